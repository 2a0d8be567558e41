import { type Command, type CommandOption, pathOperand, textOption, usageError } from '#conductor/cli/command.ts';
import { provision, readTimeout, report, waitOptions } from '#conductor/cli/provision.ts';
import { readInputFile, readSteps } from '#conductor/cli/read-input-file.ts';
import { watchFlow } from '#conductor/cli/watch-flow.ts';
import { wipeOf, wipeOptions } from '#conductor/cli/wipe-options.ts';

/** A verb that takes nothing but the node. */
function verb(words: string, target: string, meaning: string): Command {
  return {
    words,
    operands: ['NODE'],
    options: waitOptions,
    meaning,
    run: (context, input) => provision(context, input, pathOperand(input), { target }),
  };
}

/** A verb that ends with cleaning, or with a wipe. */
function wipingVerb(words: string, target: string, meaning: string): Command {
  return {
    words,
    operands: ['NODE'],
    options: { ...wipeOptions, ...waitOptions },
    meaning,
    details:
      'After a wipe, baton receipt list --node NODE has its receipt. A wipe that fails leaves no node available.',
    run: (context, input) => provision(context, input, pathOperand(input), { target, ...wipeOf(words, input) }),
  };
}

/** A verb that runs a list of steps in its order. */
function stepsVerb(words: 'clean' | 'service', meaning: string): Command {
  const steps: CommandOption = { value: 'FILE', meaning: 'JSON or YAML: a list of {interface, step, args}' };
  const hash: CommandOption = { value: 'HASH', meaning: `of \`baton plan NODE --target ${words} --steps FILE\`` };
  return {
    words,
    operands: ['NODE'],
    options: { steps, 'plan-hash': hash, ...waitOptions },
    meaning,
    run: async (context, input) => {
      const file = textOption(input, 'steps');
      if (file === undefined) throw usageError(`${words}: --steps FILE must be given`);
      const key = `${words}_steps`;
      const planHash = textOption(input, 'plan-hash');
      await provision(context, input, pathOperand(input), {
        target: words,
        [key]: await readSteps('--steps', file, key),
        ...(planHash === undefined ? {} : { plan_hash: planHash }),
      });
    },
  };
}

const rescue: Command = {
  words: 'rescue',
  operands: ['NODE'],
  options: {
    password: { value: 'FILE', meaning: 'whose first line is the password of the rescue user; - = standard input' },
    ...waitOptions,
  },
  meaning: 'boot the ramdisk of an active node for a person to log in to',
  run: async (context, input) => {
    const file = textOption(input, 'password');
    if (file === undefined) throw usageError('rescue: --password FILE must be given');
    const [password = ''] = (await readInputFile('--password', file)).split(/\r?\n/);
    await provision(context, input, pathOperand(input), { target: 'rescue', rescue_password: password });
  },
};

const { timeout } = waitOptions;

function watch(words: string): Command {
  return {
    words,
    operands: ['NODE'],
    options: { timeout: { ...timeout, meaning: 'stop watching then; the node goes on' } },
    meaning: 'the flow under way, live, until the node rests',
    run: async (context, input) => {
      const options = { ...context, quiet: input.document !== undefined, timeoutMs: readTimeout(input) };
      report(context, input, await watchFlow(context.client, pathOperand(input), options));
    },
  };
}

export const stateCommands: readonly Command[] = [
  verb('manage', 'manage', "check a node's BMC and take it under control"),
  verb('inspect', 'inspect', 'boot the ramdisk of a manageable node and store what it finds'),
  stepsVerb('clean', 'run steps on a manageable node'),
  wipingVerb('provide', 'provide', 'clean a manageable node and make it available'),
  stepsVerb('service', 'run steps on an active node'),
  wipingVerb('undeploy', 'deleted', 'take the instance away and clean'),
  verb('adopt', 'adopt', 'take a manageable node under control together with the instance that runs on it'),
  rescue,
  verb('unrescue', 'unrescue', 'boot the instance of a rescued node again'),
  verb('abort', 'abort', 'stop the flow under way, at the next step that may be interrupted'),
  verb('unhold', 'unhold', 'let a flow go on that a hold step has stopped'),
  watch('watch'),
  watch('node watch'),
];
