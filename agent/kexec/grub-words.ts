import { notUnderstood, type Word } from '#agent/kexec/grub-script.ts';

/** `undefined` = set to what can't be known. */
export type Variables = Map<string, string | undefined>;

/** More than a kernel's command line; a hostile script could fill the memory else. */
const maxWordLength = 4096;

/** Pattern of what only a shell's call has: `$?`, `$1`. */
const isOfCall = /^[?#@*\d]/;

/**
 * A word is several where a variable outside of quotes has spaces, and none where that is empty.
 * @throws AppError `not_supported` for a word that is too long
 */
export function expandWord(word: Word, variables: Variables): (string | undefined)[] {
  const words = [''];
  let length = 0;
  for (const piece of word) {
    let text = 'text' in piece ? piece.text : '';
    if ('variable' in piece) {
      const value = isOfCall.test(piece.variable) ? undefined : variables.get(piece.variable);
      if (value === undefined && (variables.has(piece.variable) || isOfCall.test(piece.variable))) return [undefined];
      text = value ?? '';
    }
    length += text.length;
    if (length > maxWordLength) throw notUnderstood(`a word is longer than ${maxWordLength} characters`);
    const [first = '', ...rest] = piece.quoted || 'text' in piece ? [text] : text.split(/[ \t\n]+/);
    words.push(`${words.pop() ?? ''}${first}`, ...rest);
  }
  return word.some(({ quoted }) => quoted) ? words : words.filter((each) => each !== '');
}

/** Quotes a word as GRUB's `grub_create_loader_cmdline` does. */
export function quoteForKernel(word: string): string {
  const escaped = word.replaceAll(/[\\'"]/g, String.raw`\$&`);
  return word.includes(' ') ? `"${escaped}"` : escaped;
}

/** Result of a script's condition; `undefined` = it can't be known here. */
export type Truth = boolean | undefined;

/**
 * GRUB's `[ … ]`: `-o` of `-a` of comparisons. Pure.
 * @param words `undefined` for one whose text isn't known
 * @param hasFile whether there is such a file, `undefined` = not known
 */
export function evaluateTest(words: readonly (string | undefined)[], hasFile: (path: string) => Truth): Truth {
  return some(split(words, '-o').map((all) => every(split(all, '-a').map((each) => compare(each, hasFile)))));
}

function compare(words: readonly (string | undefined)[], hasFile: (path: string) => Truth): Truth {
  if (words[0] === '!') return not(compare(words.slice(1), hasFile));
  if (words.includes(undefined) || words.includes('(')) return undefined;
  const [left = '', operator = '', right = ''] = words;
  if (words.length === 3) return compareTexts(left, operator, right);
  if (words.length === 2 && left === '-z') return operator === '';
  if (words.length === 2 && left === '-n') return operator !== '';
  if (words.length === 2 && ['-e', '-f', '-s'].includes(left)) return hasFile(operator);
  // an empty variable without quotes is not a word: `[ -n ]`, `[ ]`
  if (words.length === 1 && left.startsWith('-')) return left !== '-n' && left === '-z';
  return words.length < 2 ? left !== '' : undefined;
}

function compareTexts(left: string, operator: string, right: string): Truth {
  switch (operator) {
    case '=':
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '-eq':
      return Number(left) === Number(right);
    case '-ne':
      return Number(left) !== Number(right);
    default:
      return undefined;
  }
}

function split(words: readonly (string | undefined)[], at: string): (string | undefined)[][] {
  const parts: (string | undefined)[][] = [[]];
  for (const word of words) {
    if (word === at) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts;
}

function some(truths: readonly Truth[]): Truth {
  if (truths.includes(true)) return true;
  return truths.includes(undefined) ? undefined : false;
}

function every(truths: readonly Truth[]): Truth {
  return not(some(truths.map(not)));
}

function not(truth: Truth): Truth {
  return truth === undefined ? undefined : !truth;
}
