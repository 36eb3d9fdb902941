/* body_parser_test.c - which bodies have which blocks, at which lines, and which are
 * refused. */
#include "postgres.h"

#include "pg/plcuda/body_parser.h"
#include "pg/testing/unit_test.h"

static const TbPlcudaBlock *
declaration(const TbPlcudaBody *body, int n)
{
	return list_nth(body->declarations, n);
}

static bool
is_refused(const char *text, int line, const char *error)
{
	TbPlcudaBody *body = tb_plcuda_parse_body(text);

	return body->error != NULL && body->error_line == line &&
		strstr(body->error, error) != NULL;
}

TB_TEST(plcuda_blocks)
{
	TbPlcudaBody *body = tb_plcuda_parse_body("\n#plcuda_library cublas\n#plcuda_decl\n"
											  "#include <x.h>\nint a;\n#plcuda_begin\n"
											  "  return a;\n#plcuda_end\n");

	CHECK(body->error == NULL);
	CHECK(list_length(body->libraries) == 1);
	CHECK(strcmp(linitial(body->libraries), "cublas") == 0);
	CHECK(list_length(body->declarations) == 1);
	CHECK(declaration(body, 0)->first_line == 4);
	CHECK(strcmp(declaration(body, 0)->text, "#include <x.h>\nint a;\n") == 0);
	CHECK(body->host.first_line == 7);
	CHECK(strcmp(body->host.text, "  return a;\n") == 0);
}

TB_TEST(plcuda_many_declarations)
{
	TbPlcudaBody *body = tb_plcuda_parse_body("  #plcuda_begin\t\r\n#plcuda_end\r\n"
											  "#plcuda_decl\nint b;\n#plcuda_end\n"
											  "#plcuda_include <c.h>\n#plcuda_include d.h\n"
											  "#plcuda_decl\nint e;");

	CHECK(body->error == NULL);
	CHECK(strcmp(body->host.text, "") == 0);
	CHECK(list_length(body->declarations) == 4);
	CHECK(declaration(body, 0)->first_line == 4);
	CHECK(strcmp(declaration(body, 1)->text, "#include <c.h>\n") == 0);
	CHECK(declaration(body, 1)->first_line == 6);
	CHECK(strcmp(declaration(body, 2)->text, "#include \"d.h\"\n") == 0);
	CHECK(strcmp(declaration(body, 3)->text, "int e;\n") == 0);
}

TB_TEST(plcuda_refused_bodies)
{
	CHECK(is_refused("", 1, "no #plcuda_begin"));
	CHECK(is_refused("int a;\n#plcuda_begin\n#plcuda_end", 1, "outside of blocks"));
	CHECK(is_refused("#plcuda_begin\n", 2, "lacks its #plcuda_end"));
	CHECK(is_refused("#plcuda_begin\n#plcuda_decl", 2, "lacks its #plcuda_end"));
	CHECK(is_refused("#plcuda_begin\n#plcuda_end\n#plcuda_begin\n#plcuda_end", 3, "twice"));
	CHECK(is_refused("#plcuda_end", 1, "ends no block"));
	CHECK(is_refused("#plcuda_prep\n", 1, "#plcuda_prep is not known"));
	CHECK(is_refused("#plcuda_begin 1\n", 1, "takes no argument"));
	CHECK(is_refused("#plcuda_library\n", 1, "name of a library"));
	CHECK(is_refused("#plcuda_library -x\n", 1, "name of a library"));
	CHECK(is_refused("#plcuda_library a b\n", 1, "name of a library"));
	CHECK(is_refused("#plcuda_include a b\n", 1, "name of a header"));
	CHECK(is_refused("#plcuda_begin\n#plcuda_library a\n#plcuda_end", 2, "not allowed"));
}
