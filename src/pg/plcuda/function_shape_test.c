/* function_shape_test.c - the source that is compiled: its parts, and the lines that they
 * claim to be. */
#include "postgres.h"

#include "pg/plcuda/function_shape.h"
#include "pg/testing/unit_test.h"

static const TbPlcudaType number_type = {.kind = TB_PLCUDA_VALUE, .c_type = "cl_long"};

static TbPlcudaShape
shape_with(const char *body, TbPlcudaType *result)
{
	TbPlcudaShape shape = {.name = "public.a\"b", .nargs = 2, .ncolumns = 1};

	*result = number_type;
	shape.body = tb_plcuda_parse_body(body);
	shape.args = palloc0(sizeof(TbPlcudaType) * 2);
	shape.args[0] = number_type;
	shape.args[1] = (TbPlcudaType) {.kind = TB_PLCUDA_STORE,
									.c_type = "GstoreIpcMapping *"};
	shape.columns = result;
	return shape;
}

TB_TEST(plcuda_source_of_a_value)
{
	TbPlcudaType  result;
	TbPlcudaShape shape = shape_with("\n#plcuda_decl\nint x;\n#plcuda_begin\nreturn x;\n"
									 "#plcuda_end",
									 &result);
	char		 *source = tb_plcuda_source_of(&shape);

	CHECK(strstr(source, "#line 3 \"public.a\\\"b\"\nint x;\n") != NULL);
	CHECK(strstr(source,
				 "static cl_long\nplcuda_main(cl_long arg1, bool arg1_isnull,\n\t"
				 "GstoreIpcMapping * arg2, bool arg2_isnull)\n{\n"
				 "#line 5 \"public.a\\\"b\"\nreturn x;\n}\n") != NULL);
	CHECK(strstr(source,
				 "plcuda::value<cl_long>(0), plcuda::isnull(0), plcuda::store(1)") != NULL);
	CHECK(strstr(source, "plcuda_emit") == NULL);
}

TB_TEST(plcuda_source_of_a_set)
{
	TbPlcudaType  result;
	TbPlcudaShape shape = shape_with("#plcuda_begin\n#plcuda_end", &result);
	char		 *source;

	shape.returns_set = true;
	source = tb_plcuda_source_of(&shape);
	CHECK(strstr(source, "static void\nplcuda_main(") != NULL);
	CHECK(strstr(source, "plcuda_emit(cl_long value)") != NULL);
	CHECK(strstr(source, "plcuda_emit_null()") != NULL);
	CHECK(strstr(source, "const auto value") == NULL);
}
