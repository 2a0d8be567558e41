import { join } from 'node:path';

export interface ChrootCommand {
  /** Debian 13, see `debian-13.ts`. */
  readonly tree: string;
  /** Paths that it sees in place of the tree's own: path on this machine → existing path in the tree. */
  readonly binds: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

/** Environment of programs in the chroot. */
export const chrootEnvironment = { LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1', TMPDIR: '/tmp' } as const;

/**
 * Gives a command that runs a program of another Debian on this machine's own network. It ends with the process that starts
 * it; `unshare` passes no signal on, and takes its children along when it is killed.
 */
export function chrootCommand({ tree, binds, argv }: ChrootCommand): readonly [program: string, args: string[]] {
  const namespaces = ['--mount', '--propagation=private', '--pid', '--fork', '--kill-child'];
  const enter = join(import.meta.dirname, 'enter-chroot.sh');
  const places = Object.entries(binds).map(([from, to]) => `${from}:${to}`);
  return ['setpriv', ['--pdeathsig=KILL', '--', 'unshare', ...namespaces, enter, tree, ...places, '--', ...argv]];
}
