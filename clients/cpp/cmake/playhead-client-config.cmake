include(CMakeFindDependencyMacro)
find_dependency(nlohmann_json 3.9)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/playhead-client-targets.cmake")
