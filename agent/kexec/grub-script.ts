import { AppError } from '#shared/errors/app-error.ts';

/** GRUB's script language, as far as configurations that distributions generate use it. Pure. */

/** A piece of a word. A variable in quotes is never split at its spaces. */
type Piece = { readonly quoted: boolean } & ({ readonly text: string } | { readonly variable: string });

export type Word = readonly Piece[];

export type Statement =
  | { readonly kind: 'command'; readonly words: readonly Word[]; readonly body?: readonly Statement[] }
  | { readonly kind: 'if'; readonly branches: readonly Branch[] }
  | { readonly kind: 'loop'; readonly body: readonly Statement[] }
  | { readonly kind: 'function'; readonly name: string; readonly body: readonly Statement[] };

/** Without a condition: `else`. */
interface Branch {
  readonly condition?: readonly Statement[];
  readonly body: readonly Statement[];
}

type Token = Word | 'end';

const maxDepth = 20;

/** @throws AppError `not_supported` naming what is not understood */
export function parseGrubScript(text: string): readonly Statement[] {
  const reader = new Reader(readTokens(text));
  const statements = readBlock(reader, [], 0);
  if (reader.peek() !== undefined) throw notUnderstood(`\`${plainText(reader.peek())}\` out of place`);
  return statements;
}

class Reader {
  private at = 0;
  private readonly tokens: readonly Token[];

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  peek(): Token | undefined {
    return this.tokens[this.at];
  }

  next(): Token | undefined {
    this.at += 1;
    return this.tokens[this.at - 1];
  }

  /** Takes the word if it comes next. */
  take(word: string): boolean {
    if (plainText(this.peek()) !== word) return false;
    this.at += 1;
    return true;
  }

  require(word: string): void {
    while (this.peek() === 'end') this.at += 1;
    if (!this.take(word)) throw notUnderstood(`\`${word}\` is missing`);
  }
}

/** Up to one of the words in `ends`, which is left. */
function readBlock(reader: Reader, ends: readonly string[], depth: number): readonly Statement[] {
  if (depth > maxDepth) throw notUnderstood(`blocks are nested more than ${maxDepth} deep`);
  const statements: Statement[] = [];
  for (let token = reader.peek(); token !== undefined; token = reader.peek()) {
    if (token === 'end') reader.next();
    else if (ends.includes(plainText(token) ?? '')) return statements;
    else statements.push(readStatement(reader, depth + 1));
  }
  return statements;
}

function readStatement(reader: Reader, depth: number): Statement {
  if (reader.take('if')) return readIf(reader, depth);
  if (reader.take('function')) {
    const name = plainText(reader.next()) ?? '';
    return { kind: 'function', name, body: readBraces(reader, depth) };
  }
  for (const loop of ['for', 'while', 'until']) {
    if (!reader.take(loop)) continue;
    readBlock(reader, ['do'], depth);
    reader.require('do');
    const body = readBlock(reader, ['done'], depth);
    reader.require('done');
    return { kind: 'loop', body };
  }
  const words: Word[] = [];
  for (let token = reader.peek(); token !== undefined && token !== 'end'; token = reader.peek()) {
    const text = plainText(token);
    if (text === '{') return { kind: 'command', words, body: readBraces(reader, depth) };
    if (text === '}') break;
    words.push(token);
    reader.next();
  }
  if (words.length === 0) throw notUnderstood('`}` out of place');
  return { kind: 'command', words };
}

function readBraces(reader: Reader, depth: number): readonly Statement[] {
  reader.require('{');
  const body = readBlock(reader, ['}'], depth);
  reader.require('}');
  return body;
}

function readIf(reader: Reader, depth: number): Statement {
  const branches: Branch[] = [];
  do {
    const condition = readBlock(reader, ['then'], depth);
    reader.require('then');
    branches.push({ condition, body: readBlock(reader, ['elif', 'else', 'fi'], depth) });
  } while (reader.take('elif'));
  if (reader.take('else')) branches.push({ body: readBlock(reader, ['fi'], depth) });
  reader.require('fi');
  return { kind: 'if', branches };
}

/** The text of a word without quotes and variables, as reserved words are. */
function plainText(token: Token | undefined): string | undefined {
  if (token === undefined || token === 'end') return undefined;
  const [piece, more] = token;
  return piece && !more && !piece.quoted && 'text' in piece ? piece.text : undefined;
}

/** One of these per turn: blanks, a comment, an end, a quoted text, a variable, an escape, a brace, plain text. */
const lexeme =
  /([ \t\r]+|\\\n)|(#[^\n]*)|([\n;])|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\$(?:\{(\w+|[?#@*])\}|(\w+|[?#@*]))|\\([\s\S])|([{}])|([^\s;'"$\\{}|&<>]+)/y;

function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let word: Piece[] | undefined;
  const endWord = (): void => {
    if (word) tokens.push(word);
    word = undefined;
  };
  lexeme.lastIndex = 0;
  while (lexeme.lastIndex < text.length) {
    const from = lexeme.lastIndex;
    const [all, blank, comment, end, single, double, braced, bare, escaped, brace, plain] = lexeme.exec(text) ?? [];
    if (all === undefined) throw notUnderstood(`\`${text.slice(from, from + 20).split('\n')[0]}\``);
    if (blank !== undefined) endWord();
    else if (comment !== undefined && word === undefined) continue;
    else if (end !== undefined) {
      endWord();
      tokens.push('end');
    } else if (brace !== undefined && word === undefined) tokens.push([{ text: brace, quoted: false }]);
    else {
      word ??= [];
      if (comment !== undefined) {
        // within a word it is none: as far as the word goes
        word.push({ text: '#', quoted: false });
        lexeme.lastIndex = from + 1;
      } else if (double !== undefined) word.push(...readDoubleQuoted(double));
      else if (braced !== undefined || bare !== undefined) word.push({ variable: braced ?? bare ?? '', quoted: false });
      else {
        const quotedText = single ?? escaped;
        word.push({ text: quotedText ?? brace ?? plain ?? '', quoted: quotedText !== undefined });
      }
    }
  }
  endWord();
  return tokens;
}

const inDoubleQuotes = /\\(["$\\])|\$(?:\{(\w+|[?#@*])\}|(\w+|[?#@*]))|([^\\$]+|[\s\S])/g;

function readDoubleQuoted(text: string): Piece[] {
  const pieces = [...text.matchAll(inDoubleQuotes)].map(([, escaped, braced, bare, plain]): Piece => {
    const variable = braced ?? bare;
    return variable === undefined ? { text: escaped ?? plain ?? '', quoted: true } : { variable, quoted: true };
  });
  return pieces.length > 0 ? pieces : [{ text: '', quoted: true }];
}

export function notUnderstood(what: string): AppError {
  return new AppError('not_supported', `the boot configuration is not understood: ${what}`);
}
