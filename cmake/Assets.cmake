# SPDX-License-Identifier: MIT
# The web page (web/dist, built and committed) inside the program: assets.inc lists its files, which
# src/show/serve/assets.c takes in with the assembler, so that a build needs neither Node nor a generator.
set(asset_type_html "text/html; charset=utf-8")
set(asset_type_js "text/javascript; charset=utf-8")
set(asset_type_css "text/css; charset=utf-8")
file(GLOB asset_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/dist/*)
set(asset_lines "")
set(asset_number 0)
foreach(file IN LISTS asset_files)
	get_filename_component(name ${file} NAME)
	string(REGEX MATCH "[a-z]+$" ending ${name})
	string(APPEND asset_lines
		"ASSET(${asset_number}, \"${name}\", \"${asset_type_${ending}}\", \"${file}\")\n")
	math(EXPR asset_number "${asset_number} + 1")
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/show/serve/assets.inc CONTENT "${asset_lines}")

# The compiler does not know what the assembler reads.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/show/serve/assets.c PROPERTIES OBJECT_DEPENDS
	"${asset_files};${PROJECT_BINARY_DIR}/generated/show/serve/assets.inc")
