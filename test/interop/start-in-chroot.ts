import { join } from 'node:path';
import { type LabProcess, startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';

export interface ChrootProcess {
  /** The log's name. */
  readonly name: string;
  /** Absolute path of the tree. */
  readonly tree: string;
  /** Paths that it sees in place of the tree's own: path on this machine → existing path in the tree. */
  readonly binds?: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

/**
 * Starts a program of another Debian in the lab's network. Its mounts and processes are in namespaces of their own, so
 * that its end, however it comes, leaves neither behind.
 */
export function startInChroot(lab: LabDirectory, options: ChrootProcess): LabProcess {
  const binds = Object.entries(options.binds ?? {}).map(([source, target]) => `${source}:${target}`);
  const namespaces = ['--mount', '--propagation=private', '--pid', '--fork', '--kill-child'];
  const enter = join(import.meta.dirname, 'enter-chroot.sh');
  return startLabProcess('unshare', [...namespaces, enter, options.tree, ...binds, '--', ...options.argv], {
    namespace: lab.namespace,
    directory: lab.path,
    name: options.name,
    env: { LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1' },
  });
}
