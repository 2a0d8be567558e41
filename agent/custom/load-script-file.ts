import { createHash } from 'node:crypto';
import { access, constants, readdir, readFile } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import type { AgentContext, AgentStep } from '#agent/context.ts';
import { argsSchema, argText, parseScriptFile, type ScriptFile, type ScriptStep } from '#agent/custom/script-file.ts';
import { type HardwareManager, type HardwareSupport, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { runScript, writtenDevice } from '#agent/scripts/run-script.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** A step that runs a program. @param directory the YAML file's, from which `./program` is taken */
function scriptStep(script: ScriptStep, directory: string): AgentStep {
  return defineStep<AgentContext, Record<string, unknown>>({
    interface: script.interface,
    step: script.step,
    priorities: script.priority,
    description: script.description,
    destroys: script.destroys,
    abortable: script.abortable,
    rebootRequested: script.reboot_requested,
    ...(script.must_not_lose_power === undefined ? {} : { mustNotLosePower: script.must_not_lose_power }),
    args: argsSchema(script.args),
    run: (context, args) => {
      const [program, ...rest] = script.command;
      return runScript(context, {
        name: `${script.interface}.${script.step}`,
        argv: [programPath(program, directory), ...rest],
        cwd: directory,
        timeout: script.timeout,
        input: JSON.stringify(scriptInput(context, args)),
        env: scriptEnvironment(context, args),
      });
    },
  });
}

/** `./flash` → in the YAML file's directory; `/usr/bin/x` and `efibootmgr` as they are. */
function programPath(program: string, directory: string): string {
  return program.includes('/') && !isAbsolute(program) ? join(directory, program) : program;
}

/** On standard input, as JSON: never on a command line, so that no value can become anything else than a value. */
function scriptInput(context: AgentContext, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { args, node: context.node, ports: context.ports ?? [], root_device: writtenDevice(context) };
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
    BATON_ROOT_DEVICE: writtenDevice(context) ?? '',
    ...Object.fromEntries(values),
  };
}

const supportOf: Readonly<Record<ScriptFile['support'], HardwareSupport>> = {
  generic: hardwareSupport.generic,
  mainline: hardwareSupport.mainline,
  service_provider: hardwareSupport.serviceProvider,
};

const supportTimeoutMs = 60_000;

/** The YAML files of a directory, sorted; none when it does not exist. */
export async function listScriptFiles(directory: string): Promise<readonly string[]> {
  try {
    const names = await readdir(directory);
    return names.filter((name) => /\.ya?ml$/.test(name)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * The hardware manager that one YAML file describes.
 * @throws AppError `invalid_argument` naming the file and what is wrong, also for a program that can't be run
 */
export async function loadScriptFile(directory: string, file: string, run: Run): Promise<HardwareManager> {
  const text = await readFile(join(directory, file), 'utf8');
  const script = parseScriptFile(text, file);
  const programs = [script.supported, ...script.steps.map(({ command }) => command)].flatMap((argv) => argv?.[0] ?? []);
  for (const program of programs) await requireProgram(programPath(program, directory), file);
  const stem = basename(file)
    .replace(/\.ya?ml$/, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '_');
  return {
    className: `${stem.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Scripts`,
    name: `${stem.toLowerCase()}_scripts`,
    version: `${script.version}-${await digestOf(directory)}`,
    evaluateSupport: () => evaluateSupport(script, directory, run),
    steps: script.steps.map((step) => scriptStep(step, directory)),
  };
}

async function evaluateSupport(script: ScriptFile, directory: string, run: Run): Promise<HardwareSupport> {
  if (!script.supported) return supportOf[script.support];
  const [program, ...args] = script.supported;
  const { exitCode } = await run(programPath(program, directory), args, {
    cwd: directory,
    ownGroup: true,
    timeoutMs: supportTimeoutMs,
    okExitCodes: [0, 1],
  });
  return exitCode === 0 ? supportOf[script.support] : hardwareSupport.none;
}

async function requireProgram(path: string, file: string): Promise<void> {
  if (!isAbsolute(path)) return; // found by PATH when it is run
  try {
    await access(path, constants.X_OK);
  } catch (cause) {
    throw new AppError('invalid_argument', `${file}: ${path} must be a program, a file with its x bits set`, { cause });
  }
}

/**
 * Computes the digest of all files of the directory: a step may use any of them. A ramdisk with others is another
 * version.
 */
async function digestOf(directory: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(`${file.slice(directory.length)}\0`).update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}
