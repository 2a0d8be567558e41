import type { Status } from '#conductor/api/service.ts';
import { answerFor, callFor, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  numberOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { print } from '#conductor/cli/shell/print.ts';
import { decommissionTimeouts, etcdStepDefaults, nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Seed 001's operations on one node; their options are called as their query parameters. */
interface TeardownVerb {
  readonly words: string;
  readonly meaning: string;
  readonly details?: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** It needs the site's documents. */
  readonly design?: true;
  /** Describes what stands as it is when it is broken off. @param node its name */
  readonly leaves: (node: string) => string;
}

/** An option in seconds, with the value that the conductor takes when it is not given. */
interface Seconds extends CommandOption {
  readonly value: 'SECONDS';
  readonly seconds: number;
}

const limit = (meaning: string, seconds: number): Seconds => ({
  value: 'SECONDS',
  seconds,
  meaning: `${meaning} (default: ${seconds})`,
});
const grace = (meaning: string): CommandOption => ({
  value: 'SECONDS',
  meaning: `${meaning} (default: half of the timeout, at most ${nodeStepDefaults.drainGracePeriod})`,
});
const atOnce = '0 = deleted at once, its containers may still run';
const designOption = {
  design: {
    value: 'REVISION',
    required: "a revision's number, committed, successful-site-action or last-site-action",
    meaning: 'whose documents: a number, committed, successful-site-action, last-site-action',
  },
} as const;
const forceOption = { force: { meaning: 'though it is the last Ready node of its cluster, or of a role' } } as const;
const daemonSetOptions = {
  'apply-daemon-set': { meaning: 'put the daemon set that stops kubelets into the cluster first' },
  'daemon-set-image': { value: 'IMAGE', meaning: 'for its container, with a shell and nsenter' },
} as const;
const cordoned = (node: string): string =>
  `${node} stays cordoned, and what was evicted goes: baton restore-labels ${node} (or kubectl uncordon ${node}) gives it back to the cluster`;

export const teardownVerbs: readonly TeardownVerb[] = [
  {
    words: 'drain',
    meaning: 'cordon a node of the Kubernetes cluster and evict its pods, disruption budgets honoured',
    options: {
      timeout: limit('for all of it', nodeStepDefaults.drainTimeout),
      'grace-period': grace(`that each pod gets to end by itself; less than the timeout; ${atOnce}`),
      ...forceOption,
      'dry-run': { meaning: 'only say which pods would be evicted, lost, or kept by budgets' },
    },
    leaves: cordoned,
  },
  {
    words: 'clear-labels',
    meaning: "remove a node's labels that somebody has added, and wait until pods have settled",
    options: { timeout: limit('for all of it', nodeStepDefaults.clearLabelsTimeout), ...forceOption },
    leaves: (node) => `labels that ${node} has lost stay away`,
  },
  {
    words: 'restore-labels',
    meaning: 'put back the labels that were cleared from a node, and uncordon it',
    options: { timeout: limit('for all of it', nodeStepDefaults.restoreLabelsTimeout) },
    leaves: (node) => `${node} may have its labels back already: kubectl get node ${node} --show-labels shows it`,
  },
  {
    words: 'remove-etcd',
    meaning: "have a node's etcd members leave their clusters; refused where a cluster needs them",
    design: true,
    options: { ...designOption, timeout: limit('for all of it', etcdStepDefaults.removeTimeout) },
    leaves: (node) => `members of ${node} that have left stay out`,
  },
  {
    words: 'shutdown-kubelet',
    meaning: 'have a node stop its kubelet, by the label that the daemon set waits for',
    options: { timeout: limit('for all of it', nodeStepDefaults.shutdownKubeletTimeout), ...daemonSetOptions },
    leaves: (node) => `${node} keeps its label promenade-decomission, so its kubelet may stop yet`,
  },
  {
    words: 'remove-from-cluster',
    meaning: 'delete a node from the Kubernetes cluster, once it is drained and without labels',
    options: { timeout: limit('for all of it', nodeStepDefaults.removeFromClusterTimeout) },
    leaves: (node) => `${node} may be gone already: kubectl get node ${node} shows it`,
  },
  {
    words: 'decommission',
    meaning: 'drain, clear-labels, remove-etcd, wait for etcd, shutdown-kubelet: all that comes before a wipe',
    details:
      'A kubelet that cannot be stopped is reported, and is not a failure: powering the machine off stops it too.',
    design: true,
    options: {
      ...designOption,
      'drain-node-timeout': limit('for the drain', decommissionTimeouts.drainTimeout),
      'drain-node-grace-period': grace(`that each pod gets to end by itself; ${atOnce}`),
      ...forceOption,
      'clear-labels-timeout': limit('for the pods to settle', decommissionTimeouts.clearLabelsTimeout),
      'remove-etcd-timeout': limit('for the etcd members to leave', decommissionTimeouts.removeEtcdTimeout),
      'etcd-ready-timeout': limit('for the etcd clusters to become stable', decommissionTimeouts.etcdReadyTimeout),
      ...daemonSetOptions,
    },
    leaves: (node) => `what it has done stays done; ${cordoned(node)}`,
  },
];

const airship = '/api/v1.0';

const interruptible =
  'It answers when all is done, after an hour perhaps. Ctrl-C stops it at its next look; the same command goes on from\n' +
  'there. It ends with 0 only when the conductor says Success.';

function teardownCommand(verb: TeardownVerb): Command {
  const { words, meaning, details, options } = verb;
  return {
    words,
    operands: ['NODE'],
    options,
    meaning,
    details: details === undefined ? interruptible : `${details}\n${interruptible}`,
    run: (context, input) => runVerb(context, input, verb),
  };
}

async function runVerb(context: CommandContext, input: CommandInput, verb: TeardownVerb): Promise<void> {
  const { words, options, design, leaves } = verb;
  const [node = ''] = input.operands;
  const href = design ? requiredOption(input, 'design') : undefined;
  const body = design ? { rel: 'design', href, type: 'application/x-yaml' } : undefined;
  const path = withQuery(`${airship}/nodes/${pathOperand(input)}/${words}`, queryOf(input, options));
  const again = `→ ${commandLine(input, verb)} goes on from there`;
  const interrupted = context.onInterrupt?.() ?? new AbortController().signal;
  const most = longestSeconds(input, verb);
  const until = new Date(context.clock.now().getTime() + most * 1000).toISOString().slice(0, 19);
  const waiting = `${words} of ${node}: waiting for its end, until ${until}Z at the latest (${most} s); Ctrl-C stops it`;
  const asked = notifyWhenSlow(
    context,
    waiting,
    callFor<Status>(context.client, 'POST', path, body, { until: interrupted }),
  );
  const answer = await asked.catch((error: unknown) => {
    if (interrupted.aborted) {
      const what = `${words} of ${node} was stopped: the conductor begins nothing more of it`;
      throw new AppError('aborted', `${what}\n→ ${leaves(node)}\n${again}`);
    }
    throw hasBegun(error) ? withAdvice(error, [`→ ${describeLeft(error, leaves(node))}`, again]) : error;
  });
  await printStatus(context, input, answer ?? {});
}

/** Time before a note of waiting: what is refused is refused at once, and nobody is to read of waiting first. */
const quietMs = 1_000;

async function notifyWhenSlow<Answer>(
  { clock, notify }: Pick<CommandContext, 'clock' | 'notify'>,
  line: string,
  asked: Promise<Answer>,
): Promise<Answer> {
  const answered = new AbortController();
  const notified = clock.sleep(quietMs, answered.signal).then(
    () => notify?.(line),
    () => undefined,
  );
  try {
    return await asked;
  } finally {
    answered.abort();
    await notified;
  }
}

/** A step that has failed, or that the conductor has broken off; what is refused (4xx) has touched nothing. */
function hasBegun(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  // seed 001 answers it as a failed step, and it is one that was never begun: no other has gone before it either
  if (error.details['cause'] === 'NoKubernetesCluster' || error.details['cause'] === 'NothingBegun') return false;
  return [500, 503].includes(Number(error.details['status']));
}

/** A step that ran out of time had begun; what else has failed may have done so at its first look. */
function describeLeft({ details }: AppError, left: string): string {
  return details['cause'] === 'TimeUp' ? left : `if it has come so far: ${left}`;
}

function withAdvice({ code, message, details, retryable }: AppError, lines: readonly string[]): AppError {
  return new AppError(code, [message, ...lines].join('\n'), { details, retryable });
}

/** Computes the longest time; of a decommission the sum of its steps', its kubelet's included, which no option says. */
function longestSeconds(input: CommandInput, { words, options }: TeardownVerb): number {
  const limits = Object.entries(options).map(([name, option]) =>
    isSeconds(option) ? (numberOption(input, name) ?? option.seconds) : 0,
  );
  return limits.reduce(
    (sum, each) => sum + each,
    words === 'decommission' ? nodeStepDefaults.shutdownKubeletTimeout : 0,
  );
}

function isSeconds(option: TeardownVerb['options'][string]): option is Seconds {
  return 'seconds' in option;
}

/** Composes the command as it was asked: without its options it would be another. */
function commandLine({ operands, values }: CommandInput, { words, options }: TeardownVerb): string {
  const given = Object.keys(options).flatMap((name) => {
    const value = values[name];
    if (value === undefined) return [];
    return value === true ? [`--${name}`] : [`--${name} ${String(value)}`];
  });
  return ['baton', words, ...operands, ...given].join(' ');
}

function queryOf(input: CommandInput, { design: _design, ...options }: TeardownVerb['options']) {
  const given = Object.entries(options).map(([name, { value }]) => {
    if (flagOption(input, name)) return [name, 'true'] as const;
    const least = name.endsWith('grace-period') ? 0 : 1;
    return [name, value === 'SECONDS' ? numberOption(input, name, least) : textOption(input, name)] as const;
  });
  return Object.fromEntries(given);
}

/** @throws AppError `command_failed` unless it says Success. */
async function printStatus(context: CommandContext, input: CommandInput, answer: Partial<Status>): Promise<void> {
  const { renderStatus } = await import('#conductor/cli/shell/render-status.ts');
  const text = renderStatus(answer);
  if (text === undefined)
    throw new AppError('unavailable', 'read what the conductor answers: it is not a Status object');
  if (answer.status !== 'Success') throw new AppError('command_failed', text);
  print(context, input, { json: answer, text: `${text}\n` });
}

/** An unhealthy cluster is not a failure of the question (seed 001), but a script asks to know of it. */
async function etcdHealth(context: CommandContext, input: CommandInput): Promise<void> {
  const query = { design_ref: requiredOption(input, 'design') };
  const path = withQuery(`${airship}/etcd-cluster-health-statuses`, query);
  const request = ['GET', path, undefined, { isRequired: true }] as const;
  const answer = await answerFor<Status>(context.client, 'read the health of etcd clusters', ...request);
  await printStatus(context, input, answer);
  const ill = answer.details.messageList.filter(({ message }) => message !== 'Healthy');
  if (ill.length > 0) {
    throw new AppError('command_failed', `not healthy: ${ill.map(({ name = '?' }) => name).join(', ')}`);
  }
}

export const teardownCommands: readonly Command[] = [
  ...teardownVerbs.map(teardownCommand),
  {
    words: 'etcd-health',
    options: designOption,
    meaning: 'health of the etcd clusters of a design',
    details: 'It ends with 0 only when all are Healthy.',
    run: etcdHealth,
  },
];
