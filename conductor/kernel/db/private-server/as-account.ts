import type { ServerAccount } from '#conductor/kernel/db/private-server/server-account.ts';
import type { Run } from '#shared/process/run.ts';

/** Runs programs as the server's account. */
export interface AsAccount {
  /** `undefined`: as this process runs. */
  readonly owner: ServerAccount | undefined;
  readonly run: Run;
  /** The argv with which a process runs as the account. */
  argv(command: string, args: readonly string[]): readonly [command: string, ...args: string[]];
}

export function asAccount(owner: ServerAccount | undefined, run: Run): AsAccount {
  const argv: AsAccount['argv'] = (command, args) =>
    owner
      ? ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--', command, ...args]
      : [command, ...args];
  return {
    owner,
    argv,
    run: (command, args, options) => {
      const [first, ...rest] = argv(command, args);
      // the account may not enter the directory in which the conductor was started
      return run(first, rest, { cwd: '/', ...options });
    },
  };
}
