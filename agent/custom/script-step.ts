import { isAbsolute, join } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { runScript, writtenDevice } from '#agent/custom/run-script.ts';
import { argsSchema, argText } from '#agent/custom/script-args.ts';
import type { ScriptStep } from '#agent/custom/script-file.ts';
import type { AgentStep } from '#agent/hardware/hardware-manager.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** A step that runs a program. @param directory the YAML file's, from which `./program` is taken */
export function scriptStep(script: ScriptStep, directory: string): AgentStep {
  return defineStep<AgentContext, Record<string, unknown>>({
    interface: script.interface,
    step: script.step,
    priorities: script.priority,
    description: script.description,
    destroys: script.destroys,
    abortable: script.abortable,
    rebootRequested: script.reboot_requested,
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
export function programPath(program: string, directory: string): string {
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
