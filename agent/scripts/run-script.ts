import type { AgentContext } from '#agent/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { StepOutcome } from '#shared/steps/define-step.ts';

/** Exit codes of a step's program beside 0; every other is a failure. */
const scriptExitCodes = {
  /** EOPNOTSUPP: not on this machine, the next hardware manager may try. */
  notSupported: 95,
  /** 3010 mod 256, the code that installers have for it: done, and the machine has to be rebooted. */
  reboot: 194,
} as const;

const maxPhaseLength = 100;

export interface Script {
  /** Name as operators know it: `deploy.write_motd`. */
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  readonly cwd?: string;
  /** Seconds. */
  readonly timeout: number;
  readonly input?: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs a program that is (a part of) a step, in a process group of its own, all of which is killed when it ends or takes
 * too long. Lines `progress: TEXT` on standard output are progress, the last JSON object there is the result, the rest
 * and standard error are logged.
 * @throws AppError `command_failed` with the end of standard error, `timeout`, `aborted`, `not_supported`
 */
export async function runScript(
  context: Pick<AgentContext, 'run' | 'signal' | 'log' | 'reportProgress'>,
  script: Script,
): Promise<StepOutcome> {
  const [program, ...args] = script.argv;
  let result: unknown = null;
  const { exitCode } = await context.run(program, args, {
    ...(script.cwd === undefined ? {} : { cwd: script.cwd }),
    ...(script.input === undefined ? {} : { input: script.input }),
    timeoutMs: script.timeout * 1000,
    signal: context.signal,
    ownGroup: true,
    env: script.env,
    okExitCodes: [0, ...Object.values(scriptExitCodes)],
    onStdoutLine: (line) => {
      const progress = readProgress(line);
      if (progress !== '') context.reportProgress({ phase: progress });
      else if (isJsonObject(line)) result = JSON.parse(line);
      else if (line.trim() !== '') context.log.info({ line }, 'script output');
    },
    onStderrLine: (line) => {
      if (line.trim() !== '') context.log.warn({ line }, 'script error output');
    },
  });
  if (exitCode === scriptExitCodes.notSupported) {
    throw new AppError('not_supported', `${script.name} says that it can't on this machine`);
  }
  if (exitCode === scriptExitCodes.reboot) {
    return { kind: 'reboot', reason: `${script.name} asks for it`, output: result };
  }
  return { kind: 'done', output: result };
}

/** The disk that this boot has written an image to: `/dev/md127`. */
export function writtenDevice(context: Pick<AgentContext, 'writtenImage'>): string | null {
  return context.writtenImage.current?.device ?? null;
}

/** Reads what stands after `progress:`; '' = nothing. A line may have a MiB. */
export function readProgress(line: string): string {
  const mark = 'progress:';
  if (!line.startsWith(mark)) return '';
  return line
    .slice(mark.length, mark.length + 1000)
    .trim()
    .slice(0, maxPhaseLength);
}

function isJsonObject(line: string): boolean {
  const text = line.trim();
  if (!text.startsWith('{') || !text.endsWith('}')) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
