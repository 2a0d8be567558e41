import { type Command, pathOperand } from '#conductor/cli/command.ts';

export const consoleCommands: readonly Command[] = [
  {
    words: 'console',
    operands: ['NODE'],
    meaning: "a shell in the node's ramdisk, while one runs; ~. leaves",
    details: "The conductor's configuration must allow it; its beginning and end stand in the node's history.",
    run: (context, input) => context.openConsole(pathOperand(input)),
  },
];
