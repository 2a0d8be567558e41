import { type CommandInput, type CommandOption, flagOption, usageError } from '#conductor/cli/command.ts';

export const wipeOptions = {
  wipe: { meaning: 'wipe all disks, prove it, and sign a receipt, in place of the usual cleaning' },
  'preserve-local-storage': {
    meaning: 'with --wipe: only the disk with the operating system, every other stays as it is',
  },
} as const satisfies Record<string, CommandOption>;

/**
 * As requests and plans have it.
 * @throws AppError `invalid_argument` for disks to be preserved from a wipe that nobody has asked for
 */
export function wipeOf(words: string, input: CommandInput): { readonly wipe?: object } {
  const preserve = flagOption(input, 'preserve-local-storage');
  if (flagOption(input, 'wipe')) return { wipe: { preserve_local_storage: preserve } };
  if (preserve) throw usageError(`${words}: --preserve-local-storage goes with --wipe`);
  return {};
}
