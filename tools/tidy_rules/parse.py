# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parses src/ by libclang: structs, accesses to their fields, functions, and the references to functions.

libclang reads every .c of src/ once, as debug builds compile it.  A declaration or inline function of a header counts
once, in the header.  An access belongs to the file that contains its text: an access in the body of a macro belongs to
the file of the macro, an access in an argument to the file that uses the macro.
"""

import ctypes
import dataclasses
import os
import re
import sys

OPTIONS = ["-std=gnu11", "-D_GNU_SOURCE", "-DRTRCU_DEBUG=1", "-Isrc", "-Iinclude"]
ATOMICS = "include/rtrcu/detail/atomic.h"
ADDRESS_OF = 5  # CXUnaryOperator_AddrOf
STEPS = range(1, 5)  # CXUnaryOperator_PostInc to CXUnaryOperator_PreDec
ASSIGNMENTS = range(22, 33)  # CXBinaryOperator_Assign to CXBinaryOperator_OrAssign


@dataclasses.dataclass
class Field:
    struct: str
    name: str
    path: str
    line: int
    comment: str
    is_wrapped: bool  # its type is a struct of detail/atomic.h


@dataclasses.dataclass
class Struct:
    name: str
    path: str
    line: int
    comment: str
    fields: dict


@dataclasses.dataclass(frozen=True, order=True)
class Access:
    path: str
    line: int
    column: int
    struct: str
    field: str
    function: str
    # plain: a plain read; written: a plain assignment; atomic: by a wrapper; address: its address is taken for another
    # use; inside: an access to a field of this field; named: in an initializer or in offsetof; unevaluated: in sizeof.
    how: str
    is_const: bool  # the struct is const


@dataclasses.dataclass(frozen=True, order=True)
class Symbol:
    """A function, a variable of file scope or an enumerator."""

    name: str
    kind: str
    path: str
    line: int
    is_static: bool
    is_definition: bool


@dataclasses.dataclass(frozen=True, order=True)
class Reference:
    path: str
    line: int
    name: str
    kind: str
    is_static: bool


class Unreadable(Exception):
    """Raised without libclang, or for source that does not compile."""


def libclang():
    """Returns Debian's bindings of libclang.  Another Python can use them too, since they have no compiled parts."""
    try:
        import clang.cindex as cindex
    except ModuleNotFoundError:
        sys.path.append("/usr/lib/python3/dist-packages")
        try:
            import clang.cindex as cindex
        except ModuleNotFoundError:
            raise Unreadable("no libclang for Python; `tools/setup tidy` installs it: python3-clang-19") from None
    try:
        cindex.conf.lib.clang_getCursorUnaryOperatorKind
    except (cindex.LibclangError, AttributeError) as error:
        raise Unreadable(f"libclang 17 or later is needed: {error}") from None
    return cindex


def is_blank(file, line):
    return not file.code_lines[line - 1].strip()


def comment_of_field(file, first, last):
    """Returns the comment after a field, or the comment on separate lines directly above the field."""
    blocks = file.comment_blocks
    behind = [text for begin, _, text in blocks if first <= begin <= last and not is_blank(file, begin)]
    above = [text for begin, end, text in blocks if end == first - 1 and is_blank(file, begin)]
    return (behind + above + [""])[0]


def comment_above(file, line):
    return next((text for _, end, text in file.comment_blocks if end == line - 1), "")


class Reader:
    """Reads one tree; afterwards structs, accesses, symbols and references contain the findings."""

    def __init__(self, tree):
        self.tree = tree
        self.cindex = libclang()
        self.kinds = self.cindex.CursorKind
        self.lib = self.cindex.conf.lib
        self.root = os.path.realpath(tree.root)
        self.seen = set()
        self.paths = {}
        self.structs, self.symbols = {}, {}
        self.accesses, self.references = set(), set()
        self.named = {
            self.kinds.FUNCTION_DECL: "function",
            self.kinds.VAR_DECL: "variable",
            self.kinds.ENUM_CONSTANT_DECL: "enumerator",
        }
        index = self.cindex.Index.create()
        options = [re.sub(r"^-I", f"-I{tree.root}/", option) for option in OPTIONS]
        for file in tree.under("src"):
            if file.extension == ".c":
                self.read(index.parse(os.path.join(tree.root, file.path), options), file)

    def read(self, unit, file):
        for diagnostic in unit.diagnostics:
            if diagnostic.severity >= self.cindex.Diagnostic.Error:
                raise Unreadable(f"{file.path} does not compile: {diagnostic}")
        for cursor in unit.cursor.get_children():
            place = self.place(cursor)
            if place and place not in self.seen:
                self.seen.add(place)
                self.visit(cursor, [], "")

    def place(self, cursor):
        """Returns the place of a cursor's text as (path, line, column); None: outside the tree."""
        file = self.cindex.c_object_p()
        line, column, offset = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        numbers = [ctypes.byref(number) for number in (line, column, offset)]
        self.lib.clang_getSpellingLocation(cursor.location, ctypes.byref(file), *numbers)
        if not file:
            return None
        name = self.cindex.File(file).name
        if name not in self.paths:
            path = os.path.relpath(os.path.realpath(name), self.root)
            self.paths[name] = path if self.tree.exists(path) else None
        return (self.paths[name], line.value, column.value) if self.paths[name] else None

    def visit(self, cursor, above, function):
        """Records a cursor and its children.  @above: enclosing cursors, outermost first; @function: its function."""
        kind = cursor.kind
        if kind == self.kinds.FUNCTION_DECL and cursor.is_definition():
            function = cursor.spelling
        if kind in self.named and (len(above) == 0 or kind == self.kinds.ENUM_CONSTANT_DECL):
            self.note_symbol(cursor)
        elif kind in (self.kinds.STRUCT_DECL, self.kinds.UNION_DECL):
            self.note_struct(cursor)
        elif kind in (self.kinds.MEMBER_REF_EXPR, self.kinds.MEMBER_REF):
            self.note_access(cursor, above, function)
        elif kind == self.kinds.DECL_REF_EXPR:
            self.note_reference(cursor)
        above.append(cursor)
        for child in cursor.get_children():
            self.visit(child, above, function)
        above.pop()

    def is_static(self, cursor):
        return cursor.storage_class == self.cindex.StorageClass.STATIC

    def note_symbol(self, cursor):
        name, place = cursor.spelling, self.place(cursor)
        kind, is_static, is_definition = self.named[cursor.kind], self.is_static(cursor), cursor.is_definition()
        if kind == "variable":  # one without a value is a tentative definition, which libclang does not count
            is_definition = cursor.storage_class != self.cindex.StorageClass.EXTERN
        key = (name, place[0] if is_static or kind == "enumerator" else None)
        # A definition has more information than a declaration.
        if key not in self.symbols or is_definition:
            self.symbols[key] = Symbol(name, kind, *place[:2], is_static, is_definition)

    def note_reference(self, cursor):
        target, place = cursor.referenced, self.place(cursor)
        if not place or target is None or target.kind not in self.named or not self.place(target):
            return
        is_local = target.kind == self.kinds.VAR_DECL and target.semantic_parent.kind == self.kinds.FUNCTION_DECL
        if not is_local:
            kind, is_static = self.named[target.kind], self.is_static(target)
            self.references.add(Reference(*place[:2], target.spelling, kind, is_static))

    def struct_name(self, cursor):
        """Returns the innermost enclosing struct that has a name; "" if none has."""
        while cursor.kind in (self.kinds.STRUCT_DECL, self.kinds.UNION_DECL):
            if not cursor.is_anonymous() and cursor.spelling and "(" not in cursor.spelling:
                return cursor.spelling
            cursor = cursor.semantic_parent
        return ""

    def note_struct(self, cursor):
        name, place = self.struct_name(cursor), self.place(cursor)
        if not name or not place or not cursor.is_definition():
            return
        path, line, _ = place
        file = self.tree.by_path[path]
        struct = self.structs.setdefault(name, Struct(name, path, line, comment_above(file, line), {}))
        for child in cursor.get_children():
            if child.kind == self.kinds.FIELD_DECL and child.spelling:
                declared = child.type.get_canonical().get_declaration()
                home = self.place(declared)
                is_wrapped = home is not None and home[0] == ATOMICS
                comment = comment_of_field(file, child.extent.start.line, child.extent.end.line)
                field = Field(name, child.spelling, path, child.location.line, comment, is_wrapped)
                struct.fields[child.spelling] = field

    def note_access(self, cursor, above, function):
        field = cursor.referenced
        if field is None or field.kind != self.kinds.FIELD_DECL:
            return
        struct, place = self.struct_name(field.semantic_parent), self.place(cursor)
        if not struct or not place or not self.place(field):
            return
        how = "named" if cursor.kind == self.kinds.MEMBER_REF else self.how(cursor, field, list(above))
        self.accesses.add(Access(*place, struct, field.spelling, function, how, self.is_const(cursor)))

    def is_const(self, cursor):
        base = next(cursor.get_children(), None)
        if base is None or cursor.kind != self.kinds.MEMBER_REF_EXPR:
            return False
        kind = base.type.get_canonical()
        if kind.kind == self.cindex.TypeKind.POINTER:
            kind = kind.get_pointee()
        return kind.is_const_qualified()

    def is_array(self, field):
        return field.type.get_canonical().kind == self.cindex.TypeKind.CONSTANTARRAY

    def is_assigned(self, cursor, parent):
        """Returns true if the cursor is on the left of an assignment."""
        left = next(parent.get_children())
        kind = self.lib.clang_getCursorBinaryOperatorKind(parent)
        return kind in ASSIGNMENTS and left.extent.end.offset >= cursor.extent.end.offset

    def how(self, cursor, field, above):
        kinds = self.kinds
        wrapping = (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR)
        if any(cursor.kind == kinds.CXX_UNARY_EXPR for cursor in above):
            return "unevaluated"
        if self.is_array(field):
            while above and above[-1].kind in wrapping:
                above.pop()
            if not above or above.pop().kind != kinds.ARRAY_SUBSCRIPT_EXPR:
                return "address"
        while above and above[-1].kind == kinds.PAREN_EXPR:
            above.pop()
        parent = above.pop()
        if parent.kind == kinds.MEMBER_REF_EXPR:
            return "inside"
        assigns = (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR)
        if parent.kind in assigns and self.is_assigned(cursor, parent):
            return "written"
        operator = self.lib.clang_getCursorUnaryOperatorKind(parent) if parent.kind == kinds.UNARY_OPERATOR else None
        if operator != ADDRESS_OF:
            return "written" if operator in STEPS else "plain"
        while above and above[-1].kind in (*wrapping, kinds.CSTYLE_CAST_EXPR):
            place = self.place(above.pop())
            if place and place[0] == ATOMICS:
                return "atomic"
        is_count = above and above[-1].kind == kinds.CALL_EXPR and above[-1].spelling == "rtrcu_count_owner"
        return "atomic" if is_count else "address"


def facts(tree):
    """Returns the Reader of @tree, which the rules share."""
    if not hasattr(tree, "parsed"):
        tree.parsed = Reader(tree)
    return tree.parsed
