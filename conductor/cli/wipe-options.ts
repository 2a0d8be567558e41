import { type CommandInput, type CommandOption, flagOption } from '#conductor/cli/command.ts';

export const wipeOptions = {
  wipe: { meaning: 'wipe all disks, prove it, and sign a receipt, in place of the usual cleaning' },
  'preserve-local-storage': {
    goesWith: 'wipe',
    meaning: 'with --wipe: only the disk with the operating system, every other stays as it is',
  },
} as const satisfies Record<string, CommandOption>;

/** As requests and plans have it. */
export function wipeOf(input: CommandInput): { readonly wipe?: object } {
  if (!flagOption(input, 'wipe')) return {};
  return { wipe: { preserve_local_storage: flagOption(input, 'preserve-local-storage') } };
}
