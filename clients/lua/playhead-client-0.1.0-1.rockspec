package = "playhead-client"
version = "0.1.0-1"
source = {
  url = "playhead-client-0.1.0.tar.gz",
}
description = {
  summary = "Handlers for playhead: record an incident once, replay it for ever.",
  license = "Apache-2.0",
}
dependencies = {
  "lua >= 5.4",
}
build = {
  type = "builtin",
  modules = {
    ["playhead_client"] = "playhead_client/init.lua",
    ["playhead_client.context"] = "playhead_client/context.lua",
    ["playhead_client.errors"] = "playhead_client/errors.lua",
    ["playhead_client.framing"] = "playhead_client/framing.lua",
    ["playhead_client.json"] = "playhead_client/json.lua",
    ["playhead_client.live"] = "playhead_client/live.lua",
    ["playhead_client.message"] = "playhead_client/message.lua",
    ["playhead_client.peer"] = "playhead_client/peer.lua",
    ["playhead_client.serve"] = "playhead_client/serve.lua",
  },
}
