import { notUnderstood, type Word } from '#agent/kexec/grub-script.ts';

/** `undefined` = set to what can't be known. */
export type Variables = Map<string, string | undefined>;

/** More than a kernel's command line; a hostile script could fill the memory else. */
const maxWordLength = 4096;

/** Of what only a shell's call has: `$?`, `$1`. */
const isOfCall = /^[?#@*\d]/;

/**
 * A word is several where a variable outside of quotes has spaces, and none where that is empty.
 * @throws AppError `not_supported` for a word that is too long
 */
export function expand(word: Word, variables: Variables): (string | undefined)[] {
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

/** As GRUB's `grub_create_loader_cmdline`. */
export function quoteForKernel(word: string): string {
  const escaped = word.replaceAll(/[\\'"]/g, String.raw`\$&`);
  return word.includes(' ') ? `"${escaped}"` : escaped;
}
