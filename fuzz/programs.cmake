# The programs: assay, and the fuzz target with its engines. Included by the root CMakeLists.txt.
target_compile_definitions(assay_fuzz PUBLIC ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

add_executable(assay fuzz/main.cpp)
target_link_libraries(assay PRIVATE assay_fuzz)
add_dependencies(assay cuda_server)

add_executable(replay fuzz/replay_main.cpp)
target_link_libraries(replay PRIVATE assay_fuzz)

# One body of the fuzz target, two engines: libFuzzer where its archive is, and the seeded main.
add_library(assay_fuzz_target OBJECT fuzz/fuzz_target.cpp)
target_link_libraries(assay_fuzz_target PUBLIC assay_fuzz)

add_executable(fuzz_seeded fuzz/seeded_main.cpp)
target_link_libraries(fuzz_seeded PRIVATE assay_fuzz_target)

file(GLOB libfuzzer_folders /usr/lib/llvm-*/lib/clang/*/lib/linux)
list(SORT libfuzzer_folders COMPARE NATURAL ORDER DESCENDING)
find_file(ASSAY_LIBFUZZER libclang_rt.fuzzer-x86_64.a PATHS ${libfuzzer_folders} NO_DEFAULT_PATH
          DOC "libFuzzer's archive (Debian: libclang-rt-19-dev)")
if(ASSAY_LIBFUZZER)
  message(STATUS "on: libFuzzer engine (${ASSAY_LIBFUZZER})")
  # Its main() is in the archive.
  add_executable(fuzz_kernel $<TARGET_OBJECTS:assay_fuzz_target>)
  target_link_libraries(fuzz_kernel PRIVATE ${ASSAY_LIBFUZZER} assay_fuzz Threads::Threads)
  set_target_properties(fuzz_kernel PROPERTIES LINKER_LANGUAGE CXX)
else()
  message(STATUS "off: libFuzzer engine (no libclang_rt.fuzzer-x86_64.a; apt-get install "
                 "libclang-rt-19-dev); the seeded engine serves")
  add_executable(fuzz_kernel fuzz/seeded_main.cpp)
  target_link_libraries(fuzz_kernel PRIVATE assay_fuzz_target)
endif()

# fuzz_softmax and so on: the same program under the kernel's name, as OSS-Fuzz wants it.
file(GLOB contracts CONFIGURE_DEPENDS kernels_under_test/kernels/*.toml)
foreach(contract ${contracts})
  get_filename_component(kernel ${contract} NAME_WE)
  add_custom_command(TARGET fuzz_kernel POST_BUILD
                     COMMAND ${CMAKE_COMMAND} -E create_symlink fuzz_kernel fuzz_${kernel}
                     WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
endforeach()

# What a user runs, without tests and benchmarks.
add_custom_target(programs DEPENDS assay replay fuzz_kernel fuzz_seeded)

# Every corpus file is a test; listed when ctest runs.
include(cmake/AssayTests.cmake)
foreach(contract ${contracts})
  get_filename_component(kernel ${contract} NAME_WE)
  assay_add_tests(CONTRACT ${contract} CORPUS ${CMAKE_SOURCE_DIR}/corpus/${kernel})
endforeach()

# The second population's regressions lie beside its contracts.
file(GLOB form_corpora CONFIGURE_DEPENDS kernels_under_test/forms/corpus/*)
foreach(corpus ${form_corpora})
  get_filename_component(kernel ${corpus} NAME)
  assay_add_tests(CONTRACT ${CMAKE_SOURCE_DIR}/kernels_under_test/forms/${kernel}.toml
                  CORPUS ${corpus} NAME forms.${kernel})
endforeach()
