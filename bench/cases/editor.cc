/* SPDX-License-Identifier: MIT
 * editor FILE [plain]   loads a file into Scintilla's document as an editor does, block by block, and then
 * forgets the undo history of the loading; with `plain` none is collected while the file is loaded. Linked
 * with the sources of Scintilla's model, unchanged, without any window. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ScintillaTypes.h"

#include "ILoader.h"
#include "ILexer.h"

#include "Debugging.h"

/* in the order in which they need each other */
#include "CharacterCategoryMap.h"
#include "Position.h"
#include "SplitVector.h"
#include "Partitioning.h"
#include "RunStyles.h"
#include "CellBuffer.h"
#include "CharClassify.h"
#include "Decoration.h"
#include "CaseFolder.h"
#include "Document.h"

using namespace Scintilla;
using namespace Scintilla::Internal;

/* Of the platform's layer the model wants these only. */
namespace Scintilla::Internal::Platform {
void DebugPrintf(const char *, ...) noexcept {}
void Assert(const char *condition, const char *file, int line) noexcept
{
	std::fprintf(stderr, "%s:%d: %s\n", file, line, condition);
	std::abort();
}
} // namespace Scintilla::Internal::Platform

int main(int argc, char **argv)
{
	static char block[64 * 1024];
	FILE *file = argc > 1 ? std::fopen(argv[1], "r") : nullptr;
	bool undo = argc < 3 || std::strcmp(argv[2], "plain") != 0;
	Document *document = new Document(DocumentOption::Default);
	size_t bytes;

	if (!file)
		return 2;
	document->AddRef();
	document->SetUndoCollection(undo);
	while ((bytes = std::fread(block, 1, sizeof block, file)) > 0)
		document->InsertString(document->Length(), block, static_cast<Sci::Position>(bytes));
	std::fclose(file);
	document->DeleteUndoHistory();
	document->SetUndoCollection(true);
	/* bookmarks, and the levels of folding that a lexer would set */
	for (Sci::Line line = 0; line < document->LinesTotal(); line++) {
		document->SetLevel(line, 0x400 + static_cast<int>(line % 5));
		if (line % 1000 == 0)
			document->AddMark(line, 1);
	}
	std::printf("%ld bytes, %ld lines\n", static_cast<long>(document->Length()),
		    static_cast<long>(document->LinesTotal()));
	document->Release();
	return 0;
}
