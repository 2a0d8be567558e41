import { type Document, isScalar, Lexer, LineCounter, parseDocument, visit } from 'yaml';
import { AppError } from '#shared/errors/app-error.ts';

/** Words and marks of a text: a thousand of them take milliseconds, whatever they are. */
const mostTokens = 60_000;

/**
 * One small YAML document as plain values; `undefined` of an empty text. Whatever the text, it is read or refused within
 * parts of a second: for what is read on the conductor's own thread. Uploads go by `parseUpload`.
 * @throws AppError `invalid_argument` with the line and what is wrong there
 */
export function parseYaml(text: string): unknown {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > mostTokens) throw new AppError('invalid_argument', 'it is too large to be read');
  }
  const lineCounter = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter,
    merge: true,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    logLevel: 'error', // with 'silent' a second document would go unnoticed
  });
  const [first] = [...parsed.errors, ...repeatedKeys(parsed)];
  if (first) {
    const { line, col } = lineCounter.linePos(first.pos[0]);
    const message = first.message.startsWith('Maximum call stack') ? 'it is nested too deep' : first.message;
    throw new AppError('invalid_argument', `line ${line}, column ${col}: ${message}`);
  }
  try {
    return parsed.contents === null ? undefined : (parsed.toJS({ maxAliasCount: 100 }) as unknown);
  } catch (cause) {
    // the library's words for aliases that lead nowhere, or to too much, and for its stack
    if (cause instanceof ReferenceError) throw new AppError('invalid_argument', cause.message);
    if (cause instanceof RangeError) throw new AppError('invalid_argument', 'it is nested too deep');
    // "Merge sources must be maps", and whatever else it finds wrong with a text only now
    if (cause instanceof Error) throw new AppError('invalid_argument', cause.message);
    throw cause;
  }
}

/** In time with the size: with twenty thousand keys the library's own check takes seconds, and is switched off. */
export function repeatedKeys(
  parsed: Document.Parsed,
): readonly { readonly pos: readonly [number, number]; readonly message: string }[] {
  const faults: { pos: [number, number]; message: string }[] = [];
  visit(parsed, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [from = 0, to = 0] = key.range ?? [];
        if (seen.has(key.value)) faults.push({ pos: [from, to], message: `key ${String(key.value)} is given twice` });
        seen.add(key.value);
      }
    },
  });
  return faults;
}
