import type { ClientChannel } from 'ssh2';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import {
  type CommandLine,
  commandTimeoutMs,
  maximumOutputBytes,
  type OpenCommandLine,
  oneByOne,
} from '#conductor/networks/switches/command-line/command-line.ts';
import {
  cleanOutput,
  hasEcho,
  lastLineOf,
  promptName,
  type Waiting,
  waitingFor,
  withoutEcho,
  withoutMore,
} from '#conductor/networks/switches/command-line/prompt.ts';
import { refusalIn, type ShellForm } from '#conductor/networks/switches/command-line/shell-forms.ts';
import { openSsh, type SshClient } from '#conductor/networks/switches/command-line/ssh-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ctrl-D, which ends a command that takes lines of input after its own. */
export const endOfInput = '\u0004';

/** How long nothing may follow. Milliseconds. */
export interface ShellWaits {
  /** After a prompt, for it to count: a line of output may look like one. */
  readonly prompt: number;
  /** After a prompt where there must be an answer: a switch that falls behind shows prompt and echo twice. */
  readonly noAnswer: number;
  /** After a prompt that no echo came before: it is the one of an earlier command, or the switch does not echo. */
  readonly noEcho: number;
  /** After a question, or a prompt of another form: nobody will answer it. */
  readonly stuck: number;
}
const usualWaits: ShellWaits = { prompt: 3, noAnswer: 300, noEcho: 500, stuck: 5000 };

/** For a switch that is logged in to with a command line of its own: one dialogue, in which a prompt ends each answer. */
export function shell(form: ShellForm, waits = usualWaits): OpenCommandLine {
  return async (access, signal) => {
    const ssh = await openSsh(access, signal);
    try {
      return await openShell(ssh, form, waits, access, signal);
    } catch (error) {
      ssh.close();
      throw error;
    }
  };
}

async function openShell(
  ssh: SshClient,
  form: ShellForm,
  waits: ShellWaits,
  { endpoint, login }: SwitchAccess,
  signal: AbortSignal | undefined,
): Promise<CommandLine> {
  const channel = await openChannel(ssh, endpoint);
  const dialogue = startDialogue(ssh, channel, endpoint, waits);
  const lineEnd = form.lineEnd ?? '\n';
  const name = promptName((await dialogue.until({ name: undefined, about: 'the login' }, signal)).text);
  const run = oneByOne(async (command, stop) => {
    const isSave = command === form.saved?.command;
    channel.write(command.endsWith(endOfInput) ? command : `${command}${lineEnd}`);
    const answers = isSave ? !form.saved?.says.test('') : command.startsWith('show ');
    const answered = await dialogue.until({ name, about: command, echo: command, answers, mayConfirm: isSave }, stop);
    let output = withoutEcho(answered.text, command);
    if (answered.waiting === 'password') {
      // enable asks; without a password it is answered by nothing, and refuses
      channel.write(`${(await login?.enablePassword?.()) ?? ''}${lineEnd}`);
      await dialogue.until({ name, about: command }, stop);
    } else if (answered.waiting === 'confirm') {
      channel.write(lineEnd);
      output = withoutEcho((await dialogue.until({ name, about: command }, stop)).text, command);
    }
    const refusal = refusalIn(form, command, output);
    if (refusal === undefined) return output;
    const code = form.busy?.test(output) ? 'busy' : 'switch_error';
    throw new AppError(code, `switch ${endpoint} refused ${command.split('\n', 1)[0]}: ${refusal}`);
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

interface Awaited {
  /** Name in the switch's prompts; `undefined` = not known yet. */
  readonly name: string | undefined;
  /** For the error's text. */
  readonly about: string;
  /** The command whose echo comes first. */
  readonly echo?: string;
  /** Whether it prints something in any case. */
  readonly answers?: boolean;
  /** Whether a question for a confirmation ends the answer. */
  readonly mayConfirm?: boolean;
}

interface Dialogue {
  /** Reads what came in since the last call, up to a prompt, or a question that can be answered. */
  until(
    awaited: Awaited,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly text: string; readonly waiting: Waiting }>;
}

function startDialogue(ssh: SshClient, channel: ClientChannel, endpoint: string, waits: ShellWaits): Dialogue {
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
    until: (awaited, signal) =>
      new Promise((resolve, reject) => {
        const { name, about } = awaited;
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
        const shown = (): string => JSON.stringify(cleanOutput(unread.tail()).trim().slice(-200));
        const deadline = setTimeout(() => {
          const text = `switch ${endpoint} showed no prompt in ${commandTimeoutMs / 1000} s after: ${about}; it ends with ${shown()}`;
          fail(new AppError('timeout', text));
        }, commandTimeoutMs);
        const stuck = (waiting: Waiting): void => {
          const what =
            waiting === 'strange'
              ? `shows what is no prompt ${name === undefined ? 'that is understood' : `of ${name}`}`
              : 'asks what nobody answers';
          fail(new AppError('switch_error', `switch ${endpoint} ${what} after: ${about}; it ends with ${shown()}`));
        };
        look = () => {
          clearTimeout(timers.quiet);
          const tail = cleanOutput(unread.tail());
          const waiting = waitingFor(tail, name);
          if (waiting === 'more') {
            unread.replaceTail(withoutMore(tail));
            channel.write(' ');
          } else if (waiting === 'prompt' || (waiting !== undefined && answerable(awaited).includes(waiting))) {
            timers.quiet = setTimeout(
              () => {
                settle();
                resolve({ text: cleanOutput(unread.take()), waiting });
              },
              quietAfter(waiting, unread, awaited, waits),
            );
          } else if (waiting !== undefined && lastLineOf(tail) !== '') {
            timers.quiet = setTimeout(() => stuck(waiting), waits.stuck);
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

/** A login's questions are answered by SSH. */
function answerable({ echo, mayConfirm }: Awaited): readonly Waiting[] {
  if (mayConfirm) return ['password', 'confirm'];
  return echo === undefined ? [] : ['password'];
}

function quietAfter(waiting: Waiting, unread: Unread, { echo, answers }: Awaited, waits: ShellWaits): number {
  if (waiting !== 'prompt' || echo === undefined) return waits.prompt;
  const start = cleanOutput(unread.start());
  if (!hasEcho(start, echo)) return waits.noEcho;
  const isShort = unread.length() < tailCharacters;
  return answers && isShort && withoutEcho(start, echo).trim() === '' ? waits.noAnswer : waits.prompt;
}

/** Text that came in, and its end apart: looked at for each piece, all of it would cost the square of its length. */
interface Unread {
  push(text: string): void;
  length(): number;
  tail(): string;
  /** Gives as many of its first characters. */
  start(): string;
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
    start: () => (head[0] ?? tail).slice(0, tailCharacters),
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
