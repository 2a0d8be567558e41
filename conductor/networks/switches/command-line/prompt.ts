/** What a switch's command line prints, told apart: prompts, echo, answer. Pure. */

/** `leaf1>`, `leaf1#`, `leaf1(config-if-Et1)#`, `baton@leaf1>`: the part that stays when the mode changes. */
const promptForm = /^([\w.@:/~-]+)(?:\([^()\n]*\))?\s?[>#%$] ?$/;

/** Some switches shorten their name in the prompts of modes. */
const comparedLength = 15;

/** Of the last line of what came in, or of a whole text; `undefined` when that is not a prompt. */
export function promptName(text: string): string | undefined {
  return promptForm.exec(text.slice(text.lastIndexOf('\n') + 1))?.[1];
}

/** Whether the line is a prompt of the switch whose first prompt had that name. */
export function isPrompt(line: string, name: string): boolean {
  const shown = promptName(line);
  if (shown === undefined) return false;
  return shown === name || (shown.length >= comparedLength && name.startsWith(shown));
}

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

/** The answer to a command: without the first line, which repeats it, and the last, which is the next prompt. */
export function withoutEcho(text: string, command: string): string {
  const lines = text.split('\n').slice(0, -1);
  const echo = lines.findIndex(
    (line) => line.trim() !== '' && (line.includes(command) || command.includes(line.trim())),
  );
  return lines.slice(echo === 0 || echo === 1 ? echo + 1 : 0).join('\n');
}
