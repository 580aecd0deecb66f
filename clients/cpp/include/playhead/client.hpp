// All of playhead-client.
#pragma once

#include <playhead/context.hpp>
#include <playhead/errors.hpp>
#include <playhead/message.hpp>
#include <playhead/serve.hpp>
