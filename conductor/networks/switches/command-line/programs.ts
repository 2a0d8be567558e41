import {
  commandTimeoutMs,
  maximumOutputBytes,
  type OpenCommandLine,
  oneByOne,
} from '#conductor/networks/switches/command-line/command-line.ts';
import { openSsh, type SshClient } from '#conductor/networks/switches/command-line/ssh-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** For a switch that is logged in to with a Unix shell: each command is a channel of its own, with an exit code. */
export const programs: OpenCommandLine = async (access, signal) => {
  const ssh = await openSsh(access, signal);
  return {
    run: oneByOne(programsOn(ssh, access.endpoint)),
    isClosed: () => ssh.closedBy() !== undefined,
    close: () => ssh.close(),
  };
};

function programsOn(ssh: SshClient, endpoint: string): (command: string, signal?: AbortSignal) => Promise<string> {
  return (command, signal) =>
    new Promise((resolve, reject) => {
      const fail = (error: AppError): void => {
        settle();
        reject(error);
      };
      const stop = (error: AppError): void => {
        fail(error);
        ssh.close();
      };
      const onAbort = (): void => stop(new AppError('aborted', `a command on switch ${endpoint} was stopped`));
      const timer = setTimeout(() => {
        stop(new AppError('timeout', `switch ${endpoint} did not finish in ${commandTimeoutMs / 1000} s: ${command}`));
      }, commandTimeoutMs);
      const settle = (): void => {
        clearTimeout(timer);
        forget();
        signal?.removeEventListener('abort', onAbort);
      };
      const forget = ssh.onClose((reason) => fail(reason));
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      ssh.client.exec(command, (error, channel) => {
        if (error) return fail(new AppError('unavailable', `switch ${endpoint} opened no session`, { cause: error }));
        const output = { stdout: '', stderr: '' };
        const collect = (name: keyof typeof output) => (chunk: Buffer) => {
          output[name] += chunk.toString('utf8');
          if (output[name].length > maximumOutputBytes) {
            stop(new AppError('switch_error', `switch ${endpoint} prints without end after: ${command}`));
          }
        };
        channel.on('data', collect('stdout'));
        channel.stderr.on('data', collect('stderr'));
        channel.on('close', (code: number | null | undefined) => {
          if (code === 0) {
            settle();
            resolve(output.stdout);
          } else if (typeof code === 'number') {
            const words = (output.stderr || output.stdout).trim();
            fail(
              new AppError('switch_error', `switch ${endpoint} refused ${command}: ${words || `exit code ${code}`}`),
            );
          } else fail(new AppError('unavailable', `switch ${endpoint} ended the session amid: ${command}`));
        });
      });
    });
}
