# frozen_string_literal: true

$LOAD_PATH.unshift(File.join(__dir__, "..", "lib"))
require "minitest/autorun"
require "open3"
require "playhead_client"
require "tempfile"
require "timeout"

# The daemon's end of the pipes of a handler that runs in a process of its own.
class Daemon
  HOST = File.join(__dir__, "..", "host.rb")

  attr_reader :sent

  def self.hosting(source, capabilities: {})
    Tempfile.create(["handler", ".rb"]) do |file|
      file.write(source)
      file.flush
      daemon = new(RbConfig.ruby, HOST, file.path)
      begin
        daemon.initialized(capabilities)
        yield daemon
      ensure
        daemon.kill
      end
    end
  end

  def initialize(*command)
    @in, @out, @err, @process = Open3.popen3(*command)
    @stderr = Thread.new { @err.read }
    @last_id = 0
  end

  def initialized(capabilities = {})
    request("initialize", { protocol: 1, daemon: { name: "playhead", version: "0" }, capabilities: capabilities,
                            limits: { frameBytes: 64 << 20, depth: 1000 }, constants: {} })
    answer
  end

  def request(method, params)
    say(id: @last_id += 1, method: method, params: params)
  end

  def handle(event = nil, call: 0, **more)
    request("handle", { call: call, fn: "handler", event: event, seq: call, **more })
  end

  def say(message)
    raw(JSON.generate({ jsonrpc: "2.0", **message }))
  end

  def raw(line)
    @in.write("#{line}\n")
    @in.flush
  end

  # The next line of the handler, as it came.
  def line
    Timeout.timeout(20) { @out.gets&.chomp }
  end

  def message
    JSON.parse(line)
  end

  # Answers the handler's next question, and gives it.
  def reply(result = nil, error: nil)
    asked = message
    say(error ? { id: asked["id"], error: error } : { id: asked["id"], result: result })
    asked
  end

  def answer
    message.fetch("result")
  end

  # Ends the input: gives what is still said, the exit status, and what came on stderr.
  def finish
    @in.close
    Timeout.timeout(20) { [@out.read, @process.value.exitstatus, @stderr.value] }
  end

  def kill
    Process.kill("KILL", @process.pid) if @process.alive?
    [@in, @out].each { |io| io.close unless io.closed? }
    @process.join
  end
end
