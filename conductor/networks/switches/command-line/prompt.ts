/** Distinguishes what a switch's command line prints: prompts, echo, questions, answer. Pure. */

/** Arista's prompts may have the time of day, before the name or behind it. */
const time = String.raw`\d{1,2}:\d{2}(?::\d{2})?`;
const clock = new RegExp(`[.:]?${time}$`);
const apartClock = String.raw`(?:\[${time}\]|${time})`;

/**
 * `leaf1>`, `leaf1#`, `leaf1(s1)(config-if-Et1)#`, `leaf1%management#`, `[leaf1]#`, `baton@leaf1>`, `[11:10:56]leaf1#`: the
 * part that stays when the mode changes, then supervisor, maintenance, VRF, mode.
 */
const promptForm = new RegExp(
  String.raw`^(?:${apartClock} ?)?(\[?[\w.@:/~+-]+\]?)(?: ?${apartClock})?(?:%[\w.-]+|\([^()\n]*\))* ?[>#%$] ?$`,
);

/** Some switches shorten their name in the prompts of modes. */
const comparedLength = 15;

/**
 * Finds the prompt's name in the last line of what came in, or in a whole text; `undefined` when that is not a prompt.
 */
export function promptName(text: string): string | undefined {
  const shown = promptForm.exec(lastLineOf(text))?.[1];
  return shown?.replace(clock, '') || shown;
}

/** Whether the line is a prompt of the switch whose first prompt had that name. */
export function isPrompt(line: string, name: string): boolean {
  const shown = promptName(line);
  if (shown === undefined) return false;
  return shown === name || (shown.length >= comparedLength && name.startsWith(shown));
}

const morePrompt = /(?:--\s*More\s*--|---\(more[^)]*\)---)\s*$/i;
const passwordPrompt = /password: ?$/i;
const confirmPrompt = /\[confirm\]\s*$/i;
/** `Continue? [y/n]:`, `(yes/no)`, `Destination filename [startup-config]?` */
const question = /\?\s*(\[[^\]\n]*\])?\s*:?\s*$|[([](y|yes|n|no)\/(y|yes|n|no)[\])]\S*\s*:?\s*$/i;

/** The state that a switch waits in, by the end of what came in: `strange` is another prompt than its own. */
export type Waiting = 'prompt' | 'more' | 'password' | 'confirm' | 'question' | 'strange' | undefined;

/** @param name of the first prompt; `undefined` = none has come yet */
export function waitingFor(text: string, name: string | undefined): Waiting {
  const line = lastLineOf(text);
  if (morePrompt.test(line)) return 'more';
  if (name === undefined ? promptName(line) !== undefined : isPrompt(line, name)) return 'prompt';
  if (passwordPrompt.test(line)) return 'password';
  if (confirmPrompt.test(line)) return 'confirm';
  if (question.test(line)) return 'question';
  // a bar of progress is [####    ]
  return /^[^\s[].*[>#] ?$/.test(line) ? 'strange' : undefined;
}

export const lastLineOf = (text: string): string => text.slice(text.lastIndexOf('\n') + 1);

export const withoutMore = (text: string): string => text.replace(morePrompt, '');

const escapeSequence = new RegExp(String.raw`${'\u001b'}(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])`, 'g');
const backspace = '\b';

/** Without colours, line ends of terminals, and what was typed over. */
export function cleanOutput(text: string): string {
  const plain = text.replace(escapeSequence, '').replace(/\r+\n/g, '\n').replaceAll('\r', '');
  if (!plain.includes(backspace)) return plain;
  const kept: string[] = [];
  for (const character of plain) {
    if (character !== backspace) kept.push(character);
    else if (kept.at(-1) !== '\n') kept.pop();
  }
  return kept.join('');
}

/** Enough of a command to know its echo by: a long one may be wrapped, or scrolled. */
const echoLength = 16;
const echoOf = (command: string): string => (command.split('\n', 1)[0] ?? '').trim().slice(0, echoLength);

/** Whether a switch has begun to answer this command, and not the one before. @param start of what came in since it was sent */
export function hasEcho(start: string, command: string): boolean {
  return start.includes(echoOf(command));
}

/**
 * The answer to a command: without what came before its echo, the echo, which a slow switch shows again after a prompt, and
 * the last line, which is the next prompt.
 */
export function withoutEcho(text: string, command: string): string {
  const lines = text.split('\n').slice(0, -1);
  const echo = echoOf(command);
  const isEcho = (line: string | undefined): boolean => {
    const at = line?.indexOf(echo) ?? -1;
    return (
      line !== undefined && at >= 0 && (line.slice(0, at).trim() === '' || promptName(line.slice(0, at)) !== undefined)
    );
  };
  let from = lines.findIndex(isEcho) + 1;
  while (from > 0 && isEcho(lines[from])) from += 1;
  return lines.slice(from).join('\n');
}
