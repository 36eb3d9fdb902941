"""Closure test of the device library.

Every row of functions.def must have its body, with the signature that follows
from the row, in the bitcode of both targets. All bodies together must compile
to PTX, each called from a kernel, without a symbol left unresolved; the host
bitcode may need libm and libc's memory functions and nothing else.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOST_MAY_NEED = {'exp', 'log', 'log10', 'pow', 'sin', 'cos', 'tan', 'cbrt', 'rint', 'rintf', 'ceil',
                 'floor', 'trunc', 'fma', 'memcpy', 'memmove', 'memset', '_GLOBAL_OFFSET_TABLE_'}
IR_TYPES = {'BOOL': 'i1', 'INT2': 'i16', 'INT4': 'i32', 'INT8': 'i64', 'FLOAT4': 'float',
            'FLOAT8': 'double', 'DATE': 'i32', 'TIMESTAMP': 'i64', 'TIMESTAMPTZ': 'i64',
            'NUM64': 'i64', 'NUM128': 'i128'}
TEXTS = ('TEXT', 'BPCHAR', 'GEOMETRY')


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def definitions(llvm_dis, bitcode):
    """symbol -> (result type, [argument types]) of a module's functions."""
    found = {}
    for m in re.finditer(r'^define ([^@]*)@(\w+)\(([^\n]*)\)[^()\n]*\{$', run(llvm_dis, bitcode, '-o', '-'),
                         re.M):
        aggregate = re.search(r'\{[^}]*\}', m[1])
        result = aggregate[0] if aggregate else m[1].split()[-1]
        args = [arg.split()[0] for arg in m[3].split(', ') if arg]
        found[m[2]] = (result, args)
    return found


def expected_signature(row, target):
    wide = ['i64', 'i64'] if target == 'host' else ['i128']
    args = []
    for arg in row.args:
        args += ['ptr', 'i32'] if arg in TEXTS else wide if arg == 'NUM128' else [IR_TYPES[arg]]
    if 'SCALED' in row.flags:
        args += ['i32', 'i32']
    if 'BUILDS' in row.flags:
        args += ['ptr']
    if row.result in TEXTS:
        args += ['ptr', 'ptr']
    if 'NULLS' in row.flags:
        args += ['ptr']
    if 'RAISES' in row.flags:
        args += ['ptr']
    if row.result in TEXTS:
        return 'void', args
    if row.result == 'NUM128' and target == 'host':
        return '{ i64, i64 }', args
    return IR_TYPES[row.result], args


def check_signatures(rows, functions, target):
    failures = 0
    for row in rows:
        expected = expected_signature(row, target)
        if row.symbol not in functions:
            print(f'{row.id}: {target} bitcode has no {row.symbol}')
            failures += 1
        elif functions[row.symbol] != expected:
            print(f'{row.id}: {target} {row.symbol} is {functions[row.symbol]}, the row says {expected}')
            failures += 1
    return failures


def kernel(symbol, result, args):
    """A kernel that loads every argument from memory and stores the result."""
    lines = [f'define void @kernel_{symbol}(ptr %p) {{']
    for i, arg in enumerate(args):
        lines += [f'  %p{i} = getelementptr i8, ptr %p, i64 {16 * (i + 1)}',
                  f'  %a{i} = load {arg}, ptr %p{i}']
    call = f'call {result} @{symbol}(' + ', '.join(f'{a} %a{i}' for i, a in enumerate(args)) + ')'
    if result == 'void':
        lines += [f'  {call}']
    else:
        lines += [f'  %r = {call}', f'  store {result} %r, ptr %p']
    return '\n'.join(lines + ['  ret void', '}', ''])


def check_ptx(rows, functions, tools, bitcode, folder):
    """Compiles all bodies that rows name; returns the number of failures."""
    symbols = sorted({row.symbol for row in rows if row.symbol in functions})
    module = ['target triple = "nvptx64-nvidia-cuda"']
    for symbol in symbols:
        result, args = functions[symbol]
        module += [f'declare {result} @{symbol}({", ".join(args)})', kernel(symbol, result, args)]
    module.append('!nvvm.annotations = !{' + ', '.join(f'!{i}' for i in range(len(symbols))) + '}')
    module += [f'!{i} = !{{ptr @kernel_{s}, !"kernel", i32 1}}' for i, s in enumerate(symbols)]
    source, linked = os.path.join(folder, 'kernels.ll'), os.path.join(folder, 'linked.bc')
    short, ptx = os.path.join(folder, 'short.bc'), os.path.join(folder, 'kernels.ptx')
    with open(source, 'w') as f:
        f.write('\n'.join(module) + '\n')
    run(tools['llvm-link'], source, '--only-needed', bitcode, '-o', linked)
    run(tools['opt'], linked, '-o', short, '-passes=internalize,globaldce,cgscc(inline),globaldce',
        '--internalize-public-api-list=' + ','.join('kernel_' + s for s in symbols))
    run(tools['llc'], '-mcpu=sm_90', '-mattr=+ptx80', short, '-o', ptx)
    text = Path(ptx).read_text()
    unresolved = re.findall(r'^\.extern .*', text, re.M)
    for line in unresolved:
        print('unresolved in PTX:', line)
    missing = [s for s in symbols if f'.entry kernel_{s}(' not in text]
    for symbol in missing:
        print('no kernel in the PTX for', symbol)
    print(f'{len(symbols)} bodies compiled to {len(text)} bytes of PTX')
    return len(unresolved) + len(missing)


def check_host_needs(tools, bitcode, folder):
    host_object = os.path.join(folder, 'host.o')
    run(tools['llc'], '-filetype=obj', '-relocation-model=pic', bitcode, '-o', host_object)
    needs = {line.split()[-1] for line in run(tools['llvm-nm'], '-u', host_object).splitlines()}
    for symbol in sorted(needs - HOST_MAY_NEED):
        print('host bitcode needs', symbol)
    return len(needs - HOST_MAY_NEED)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--catalog', required=True)
    parser.add_argument('--bitcode-dir', required=True)
    parser.add_argument('--llc', required=True, help='llc; the other LLVM tools are beside it')
    parser.add_argument('--keep-ptx', help='where to leave the PTX of all bodies')
    options = parser.parse_args()
    tools = {name: options.llc.replace('llc', name)
             for name in ('llc', 'opt', 'llvm-link', 'llvm-dis', 'llvm-nm')}
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.catalog)))
    import function_rows
    rows = function_rows.read(options.catalog)
    failures = 0 if rows else 1
    nvptx = None
    for target in ('host', 'nvptx'):
        nvptx = definitions(tools['llvm-dis'], os.path.join(options.bitcode_dir, f'rt_{target}.bc'))
        failures += check_signatures(rows, nvptx, target)
    with tempfile.TemporaryDirectory() as folder:
        try:
            failures += check_ptx(rows, nvptx, tools,
                                  os.path.join(options.bitcode_dir, 'rt_nvptx.bc'), folder)
            if options.keep_ptx:
                shutil.copy(os.path.join(folder, 'kernels.ptx'), options.keep_ptx)
            failures += check_host_needs(tools, os.path.join(options.bitcode_dir, 'rt_host.bc'), folder)
        except subprocess.CalledProcessError as error:
            print(' '.join(error.cmd[:3]), 'failed:', error.stderr[-4000:])
            failures += 1
    print(f'{len(rows)} rows, {failures} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
