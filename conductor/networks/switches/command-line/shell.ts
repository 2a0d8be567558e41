import type { ClientChannel } from 'ssh2';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import {
  type CommandLine,
  commandTimeoutMs,
  maximumOutputBytes,
  type OpenCommandLine,
  oneByOne,
} from '#conductor/networks/switches/command-line/command-line.ts';
import { cleanOutput, isPrompt, promptName, withoutEcho } from '#conductor/networks/switches/command-line/prompt.ts';
import { openSsh, type SshClient } from '#conductor/networks/switches/command-line/ssh-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What a dialogue with prompts needs to know of the switch's OS. */
export interface ShellForm {
  /** Commands after the login: no pages, no wrapped lines, and `enable` where a login begins without rights. */
  readonly setUp: readonly string[];
  /** What the switch prints when it does not do a command. */
  readonly errors: RegExp;
}

/** Ctrl-D, which ends a command that takes lines of input after its own. */
export const endOfInput = '\u0004';

const morePrompt = /(?:--\s*More\s*--|---\(more[^)]*\)---)\s*$/i;
/** A prompt counts when nothing follows for so long: a line of output may look like one. Milliseconds. */
const quietMs = 3;

/** For a switch that is logged in to with a command line of its own: one dialogue, in which a prompt ends each answer. */
export function shell(form: ShellForm): OpenCommandLine {
  return async (access, signal) => {
    const ssh = await openSsh(access, signal);
    try {
      return await openShell(ssh, form, access, signal);
    } catch (error) {
      ssh.close();
      throw error;
    }
  };
}

async function openShell(
  ssh: SshClient,
  form: ShellForm,
  { endpoint, login }: SwitchAccess,
  signal: AbortSignal | undefined,
): Promise<CommandLine> {
  const channel = await openChannel(ssh, endpoint);
  const dialogue = startDialogue(ssh, channel, endpoint);
  const name = promptName(await dialogue.until((lastLine) => promptName(lastLine) !== undefined, 'the login', signal));
  const isEnd = (lastLine: string): boolean => isPrompt(lastLine, name ?? '');
  const run = oneByOne(async (command, stop) => {
    channel.write(command.endsWith(endOfInput) ? command : `${command}\n`);
    const answered = await dialogue.until((line) => isEnd(line) || /password: ?$/i.test(line), command, stop);
    if (/password: ?$/i.test(answered)) {
      // enable asks; without a password it is answered by nothing, and refuses
      channel.write(`${(await login?.enablePassword?.()) ?? ''}\n`);
      await dialogue.until(isEnd, command, stop);
    }
    const output = withoutEcho(answered, command);
    const refusal = form.errors.exec(output);
    if (!refusal) return output;
    const words = output.split('\n').find((line) => form.errors.test(line)) ?? refusal[0];
    throw new AppError('switch_error', `switch ${endpoint} refused ${command.split('\n', 1)[0]}: ${words.trim()}`);
  });
  await run(form.setUp, signal);
  return { run, isClosed: () => ssh.closedBy() !== undefined, close: () => ssh.close() };
}

function openChannel(ssh: SshClient, endpoint: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    const forget = ssh.onClose(reject);
    ssh.client.shell({ term: 'vt100', cols: 511, rows: 1000 }, (cause, channel) => {
      forget();
      if (cause) reject(new AppError('unavailable', `switch ${endpoint} opened no session`, { cause }));
      else resolve(channel);
    });
  });
}

interface Dialogue {
  /**
   * What came in since the last call, up to a last line that `isEnd` holds for.
   * @param about for the error's text
   */
  until(isEnd: (lastLine: string) => boolean, about: string, signal: AbortSignal | undefined): Promise<string>;
}

function startDialogue(ssh: SshClient, channel: ClientChannel, endpoint: string): Dialogue {
  const unread = createUnread();
  let look = (): void => undefined;
  channel.on('data', (chunk: Buffer) => {
    unread.push(chunk.toString('utf8'));
    // also what comes while nobody waits for it
    if (unread.length() > maximumOutputBytes) {
      ssh.close(new AppError('switch_error', `switch ${endpoint} prints without end`));
    } else look();
  });
  channel.stderr.resume();
  channel.on('close', () => ssh.client.end());
  return {
    until: (isEnd, about, signal) =>
      new Promise((resolve, reject) => {
        const timers: { quiet?: NodeJS.Timeout } = {};
        const settle = (): void => {
          clearTimeout(deadline);
          clearTimeout(timers.quiet);
          forget();
          signal?.removeEventListener('abort', onAbort);
          look = () => undefined;
        };
        const fail = (error: AppError): void => {
          settle();
          reject(error);
          ssh.close(); // what comes in later would be taken for another command's answer
        };
        const onAbort = (): void => fail(new AppError('aborted', `a command on switch ${endpoint} was stopped`));
        const deadline = setTimeout(() => {
          fail(
            new AppError(
              'timeout',
              `switch ${endpoint} showed no prompt in ${commandTimeoutMs / 1000} s after: ${about}`,
            ),
          );
        }, commandTimeoutMs);
        look = () => {
          clearTimeout(timers.quiet);
          const tail = cleanOutput(unread.tail());
          if (morePrompt.test(tail)) {
            unread.replaceTail(tail.replace(morePrompt, ''));
            channel.write(' ');
          } else if (isEnd(tail.slice(tail.lastIndexOf('\n') + 1))) {
            timers.quiet = setTimeout(() => {
              settle();
              resolve(cleanOutput(unread.take()));
            }, quietMs);
          }
        };
        const forget = ssh.onClose((reason) => {
          settle();
          reject(reason);
        });
        if (signal?.aborted) return onAbort();
        signal?.addEventListener('abort', onAbort, { once: true });
        look();
      }),
  };
}

/** Text that came in, and its end apart: looked at for each piece, all of it would cost the square of its length. */
interface Unread {
  push(text: string): void;
  length(): number;
  tail(): string;
  replaceTail(text: string): void;
  /** All of it, once. */
  take(): string;
}

/** Longer than any prompt. */
const tailCharacters = 4096;

function createUnread(): Unread {
  let head: string[] = [];
  let headLength = 0;
  let tail = '';
  return {
    push: (text) => {
      tail += text;
      if (tail.length <= 2 * tailCharacters) return;
      head.push(tail.slice(0, -tailCharacters));
      headLength += tail.length - tailCharacters;
      tail = tail.slice(-tailCharacters);
    },
    length: () => headLength + tail.length,
    tail: () => tail,
    replaceTail: (text) => {
      tail = text;
    },
    take: () => {
      const text = head.join('') + tail;
      [head, headLength, tail] = [[], 0, ''];
      return text;
    },
  };
}
