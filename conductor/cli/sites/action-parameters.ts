import { type CommandInput, flagOption, listOption } from '#conductor/cli/shell/command.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';

/**
 * Reads the parameters of an action, `target_nodes=n1,n2`, `continue-on-fail=true`: the conductor knows which there are.
 * @throws AppError `invalid_argument` for one that is given twice: which of the two is meant is nobody's to guess
 */
export function readParameters(input: CommandInput): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  const give = (option: string, key: string, value: unknown): void => {
    if (Object.hasOwn(parameters, key)) {
      const lists = key === 'target_nodes' || key === 'server-name';
      throw usageError(`${option}: given twice; ${lists ? `${key}=n1,n2 names several` : 'give it once'}`);
    }
    parameters[key] = value;
  };
  for (const text of listOption(input, 'param')) {
    const [, key = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (key === '') throw usageError(`--param ${text}: it must be NAME=VALUE, target_nodes=n1,n2`);
    give(`--param ${key}`, key, value);
  }
  if (flagOption(input, 'allow-intermediate-commits')) {
    give('--allow-intermediate-commits', 'allow-intermediate-commits', true);
  }
  if (flagOption(input, 'dry-run')) give('--dry-run', 'dry_run', true);
  return parameters;
}
