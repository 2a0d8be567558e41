import { type Command, pathOperand } from '#conductor/cli/command.ts';

export const consoleCommands: readonly Command[] = [
  {
    words: 'console',
    operands: ['NODE'],
    meaning: "a shell in the node's ramdisk, while one runs; ~. leaves",
    details: "The conductor's configuration must allow it; the node's history says when it began and ended.",
    run: (context, input) => context.openConsole(pathOperand(input)),
  },
];
