import { isAbsolute, join } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { argsSchema, argText } from '#agent/custom/script-args.ts';
import type { ScriptStep } from '#agent/custom/script-file.ts';
import type { AgentStep } from '#agent/hardware/hardware-manager.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { defineStep, type StepOutcome } from '#shared/steps/define-step.ts';

/** Exit codes of a step's program beside 0; every other is a failure. */
const scriptExitCodes = {
  /** EOPNOTSUPP: not on this machine, the next hardware manager may try. */
  notSupported: 95,
  /** 3010 mod 256, the code that installers have for it: done, and the machine has to be rebooted. */
  reboot: 194,
} as const;

const maxPhaseLength = 100;

/** A step that runs a program. @param directory the YAML file's, from which `./program` is taken */
export function scriptStep(script: ScriptStep, directory: string): AgentStep {
  return defineStep<AgentContext, Record<string, unknown>>({
    interface: script.interface,
    step: script.step,
    priority: 0,
    description: script.description,
    abortable: script.abortable,
    rebootRequested: script.reboot_requested,
    args: argsSchema(script.args),
    run: (context, args) => runScript(script, directory, context, args),
  });
}

/** `./flash` → in the YAML file's directory; `/usr/bin/x` and `efibootmgr` as they are. */
export function programPath(program: string, directory: string): string {
  return program.includes('/') && !isAbsolute(program) ? join(directory, program) : program;
}

async function runScript(
  script: ScriptStep,
  directory: string,
  context: AgentContext,
  args: Readonly<Record<string, unknown>>,
): Promise<StepOutcome> {
  const [program, ...rest] = script.command;
  let result: unknown = null;
  const { exitCode } = await context.run(programPath(program, directory), rest, {
    cwd: directory,
    timeoutMs: script.timeout * 1000,
    signal: context.signal,
    ownGroup: true,
    input: JSON.stringify(scriptInput(context, args)),
    env: scriptEnvironment(context, args),
    okExitCodes: [0, ...Object.values(scriptExitCodes)],
    onStdoutLine: (line) => {
      const progress = /^progress:\s*(.*\S)/.exec(line)?.[1];
      if (progress !== undefined) context.reportProgress({ phase: progress.slice(0, maxPhaseLength) });
      else if (isJsonObject(line)) result = JSON.parse(line);
      else if (line.trim() !== '') context.log.info({ line }, 'script output');
    },
  });
  if (exitCode === scriptExitCodes.notSupported) {
    throw new AppError('not_supported', `${script.interface}.${script.step} says that it can't on this machine`);
  }
  if (exitCode === scriptExitCodes.reboot) {
    return { kind: 'reboot', reason: `${script.interface}.${script.step} asks for it`, output: result };
  }
  return { kind: 'done', output: result };
}

/** On standard input, as JSON: never on a command line, so that no value can become anything else than a value. */
function scriptInput(context: AgentContext, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { args, node: context.node, ports: context.ports ?? [], root_device: rootDevice(context) };
}

/** The same for shell scripts, where it is text. A variable has 128 KiB at most: what is longer is only in the input. */
function scriptEnvironment(
  context: AgentContext,
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const values = Object.entries(args)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [`BATON_ARG_${name.toUpperCase()}`, argText(value)] as const)
    .filter(([, text]) => Buffer.byteLength(text) < 120 * 1024);
  return {
    BATON_NODE_UUID: context.node.uuid,
    BATON_ROOT_DEVICE: rootDevice(context) ?? '',
    ...Object.fromEntries(values),
  };
}

/** The disk that this boot has written an image to: `/dev/md127`. */
function rootDevice(context: AgentContext): string | null {
  return context.writtenImage.current?.device ?? null;
}

function isJsonObject(line: string): boolean {
  if (!/^\s*\{.*\}\s*$/.test(line)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
