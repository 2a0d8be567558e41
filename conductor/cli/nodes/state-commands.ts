import { wipeOf, wipeOptions } from '#conductor/cli/nodes/instance-options.ts';
import { provision, readTimeout, report, waitOptions, watchFlow } from '#conductor/cli/nodes/provision.ts';
import {
  type Command,
  type CommandOption,
  flagOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readInputFile, readSteps } from '#conductor/cli/shell/input-files.ts';
import { onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';

/** A verb that takes nothing but the node. */
function verb(words: string, target: string, meaning: string): Command {
  return onNodes({
    words,
    operands: ['NODE'],
    options: waitOptions,
    meaning,
    run: (context, input) => provision(context, input, pathOperand(input), { target }),
  });
}

const planHashOption = (words: string): CommandOption => ({
  value: 'HASH',
  meaning: `of \`baton plan NODE --target ${words}\`, with the same options: refused if it has changed since`,
});

/** A verb that ends with cleaning, or with a wipe. @param hasPlan whether its plan can be read before */
function wipingVerb(words: string, target: string, meaning: string, hasPlan = false): Command {
  return onNodes({
    words,
    operands: ['NODE'],
    options: { ...wipeOptions, ...(hasPlan ? { 'plan-hash': planHashOption(words) } : {}), ...waitOptions },
    meaning,
    details:
      'After a wipe, baton receipt list --node NODE has its receipt. A wipe that fails leaves no node available.',
    run: (context, input) => {
      const hash = textOption(input, 'plan-hash');
      const planned = hash === undefined ? {} : { plan_hash: hash };
      return provision(context, input, pathOperand(input), { target, ...wipeOf(input), ...planned });
    },
  });
}

/** An option beside a list of steps; a runbook says it itself. */
export const disableRamdisk: CommandOption = { meaning: 'with --steps: no ramdisk is booted; steps of BMCs need none' };

/** A verb that runs a list of steps in its order. */
function stepsVerb(words: 'clean' | 'service', meaning: string): Command {
  const form = 'a list of {interface, step, args}, JSON or YAML';
  const steps: CommandOption = { value: 'FILE', meaning: form };
  const runbook: CommandOption = { value: 'NAME', meaning: 'in place of --steps: a runbook, whose trait the node has' };
  return onNodes({
    words,
    operands: ['NODE'],
    options: {
      steps,
      'disable-ramdisk': disableRamdisk,
      runbook,
      'plan-hash': planHashOption(words),
      ...waitOptions,
    },
    meaning,
    run: async (context, input) => {
      const [file, name] = [textOption(input, 'steps'), textOption(input, 'runbook')];
      const key = `${words}_steps`;
      if ((file === undefined) === (name === undefined))
        throw usageError(`either --steps FILE must be given, ${form}, or --runbook NAME`);
      const planHash = textOption(input, 'plan-hash');
      await provision(context, input, pathOperand(input), {
        target: words,
        ...(file === undefined ? { runbook: name } : { [key]: await readSteps('--steps', file, key) }),
        ...(flagOption(input, 'disable-ramdisk') ? { disable_ramdisk: true } : {}),
        ...(planHash === undefined ? {} : { plan_hash: planHash }),
      });
    },
  });
}

const rescue: Command = onNodes({
  words: 'rescue',
  operands: ['NODE'],
  options: {
    password: {
      value: 'FILE',
      required: 'no secret stands among the arguments',
      meaning: 'whose first line is the password of the rescue user; - = standard input',
    },
    ...waitOptions,
  },
  meaning: 'boot the ramdisk of an active node for a person to log in to',
  run: async (context, input) => {
    const file = requiredOption(input, 'password');
    const [password = ''] = (await readInputFile('--password', file)).split(/\r?\n/);
    await provision(context, input, pathOperand(input), { target: 'rescue', rescue_password: password });
  },
});

const { timeout } = waitOptions;

function watch(words: string): Command {
  return {
    words,
    operands: ['NODE'],
    options: { timeout: { value: timeout.value, meaning: 'stop watching then; the node goes on' } },
    meaning: 'the flow under way, live, until the node rests',
    run: async (context, input) => {
      const options = { ...context, quiet: input.document !== undefined, timeoutMs: readTimeout(input) };
      report(context, input, await watchFlow(context.client, pathOperand(input), options));
    },
  };
}

export const stateCommands: readonly Command[] = [
  verb(
    'manage',
    'manage',
    "check a node's BMC and take it under control; of a restored node, say that no instance runs on it",
  ),
  verb(
    'inspect',
    'inspect',
    'read the hardware of a manageable node: by its ramdisk, or by its BMC (inspect_interface)',
  ),
  stepsVerb('clean', 'run steps on a manageable node'),
  wipingVerb('provide', 'provide', 'clean a manageable node and make it available', true),
  stepsVerb('service', 'run steps on an active node'),
  wipingVerb('undeploy', 'deleted', 'take the instance away and clean'),
  verb(
    'adopt',
    'adopt',
    'take a manageable node under control together with the instance that runs on it; of a restored node, say that one does',
  ),
  rescue,
  verb('unrescue', 'unrescue', 'boot the instance of a rescued node again'),
  verb('abort', 'abort', 'stop the flow under way, at the next step that may be interrupted'),
  verb('unhold', 'unhold', 'let a flow go on that a hold step has stopped'),
  watch('watch'),
  watch('node watch'),
];
