import { join } from 'node:path';
import { type Run, type RunningProcess, type RunResult, run, start } from '#shared/process/run.ts';

/** Debian's kubectl, unpacked by `test/set-up/set-up.sh debian`. */
const kubectlPath = join(import.meta.dirname, '../../build/kubernetes-client/usr/bin/kubectl');

export interface Kubectl {
  /** Runs it to its end; `ok: false` takes an exit code of 1, too. */
  call(args: readonly string[], options?: { readonly ok?: boolean; readonly input?: string }): Promise<RunResult>;
  /** `kubectl get -w`, until it is killed. */
  watch(args: readonly string[]): RunningProcess;
}

/** @param directory for its cache: what it knows of one simulator must not be told to another on the same port */
export function createKubectl(kubeconfigFile: string, directory: string, runner: Run = run): Kubectl {
  const general = ['--kubeconfig', kubeconfigFile, '--cache-dir', join(directory, 'cache')];
  return {
    call: (args, { ok = true, input } = {}) =>
      runner(kubectlPath, [...general, ...args], {
        timeoutMs: 120_000,
        okExitCodes: ok ? [0] : [1],
        ...(input === undefined ? {} : { input }),
      }),
    watch: (args) => start(kubectlPath, [...general, ...args]),
  };
}
