import type { Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  numberOption,
  pathOperand,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { print } from '#conductor/cli/print.ts';
import { renderStatus } from '#conductor/cli/render-status.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Seed 001's operations on one node; their options are called as their query parameters. */
interface TeardownVerb {
  readonly words: string;
  readonly meaning: string;
  readonly details?: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** It needs the site's documents. */
  readonly design?: true;
  /** What stands as it is when it is broken off. @param node its name */
  readonly leaves: (node: string) => string;
}

const airship = '/api/v1.0';
const seconds = (meaning: string): CommandOption => ({ value: 'SECONDS', meaning });
const designOption = {
  design: {
    value: 'REVISION',
    meaning: 'must be given: whose documents: a number, committed, successful-site-action, …',
  },
} as const;
const daemonSetOptions = {
  'apply-daemon-set': { meaning: 'put the daemon set that stops kubelets into the cluster first' },
  'daemon-set-image': { value: 'IMAGE', meaning: 'for its container, with a shell and nsenter' },
} as const;
const cordoned = (node: string): string =>
  `${node} stays cordoned, and what was evicted goes: kubectl uncordon ${node} gives it back to the cluster`;

const verbs: readonly TeardownVerb[] = [
  {
    words: 'drain',
    meaning: 'cordon a node of the Kubernetes cluster and evict its pods, disruption budgets honoured',
    options: {
      timeout: seconds('for all of it (default: 3600)'),
      'grace-period': seconds('that each pod gets to end by itself; less than the timeout (default: 1800)'),
    },
    leaves: cordoned,
  },
  {
    words: 'clear-labels',
    meaning: "take away a node's labels that somebody has added, and wait until pods have settled",
    options: { timeout: seconds('for all of it (default: 1800)') },
    leaves: (node) => `labels that ${node} has lost stay away`,
  },
  {
    words: 'remove-etcd',
    meaning: "have a node's etcd members leave their clusters; refused where a cluster needs them",
    design: true,
    options: { ...designOption, timeout: seconds('for all of it (default: 1800)') },
    leaves: (node) => `members of ${node} that have left stay out`,
  },
  {
    words: 'shutdown-kubelet',
    meaning: 'have a node stop its kubelet, by the label that the daemon set waits for',
    options: { timeout: seconds('for all of it'), ...daemonSetOptions },
    leaves: (node) => `${node} keeps its label promenade-decomission, so its kubelet may stop yet`,
  },
  {
    words: 'remove-from-cluster',
    meaning: 'delete a node from the Kubernetes cluster, once it is drained and without labels',
    options: { timeout: seconds('for all of it') },
    leaves: (node) => `${node} may be gone already: kubectl get node ${node} tells`,
  },
  {
    words: 'decommission',
    meaning: 'drain, clear-labels, remove-etcd, wait for etcd, shutdown-kubelet: all that comes before a wipe',
    details: 'A kubelet that can not be stopped is told, and no failure: powering the machine off stops it too.',
    design: true,
    options: {
      ...designOption,
      'drain-node-timeout': seconds('for the drain (default: 3600)'),
      'drain-node-grace-period': seconds('that each pod gets to end by itself (default: 1800)'),
      'clear-labels-timeout': seconds('for the pods to settle (default: 1800)'),
      'remove-etcd-timeout': seconds('for the etcd members to leave (default: 1800)'),
      'etcd-ready-timeout': seconds('for the etcd clusters to become stable (default: 600)'),
      ...daemonSetOptions,
    },
    leaves: (node) => `what it has done stays done; ${cordoned(node)}`,
  },
];

const interruptible =
  'It answers when all is done, after an hour perhaps. Ctrl-C stops it at its next look; the same command goes on from\n' +
  'there. It ends with 0 only when the conductor says Success.';

function teardownCommand({ words, meaning, details, options, design, leaves }: TeardownVerb): Command {
  return {
    words,
    operands: ['NODE'],
    options,
    meaning,
    details: details === undefined ? interruptible : `${details}\n${interruptible}`,
    run: async (context, input) => {
      const [node = ''] = input.operands;
      const body = design ? { rel: 'design', href: designOf(input), type: 'application/x-yaml' } : undefined;
      const path = `${airship}/nodes/${pathOperand(input)}/${words}${queryOf(input, options)}`;
      const interrupted = context.onInterrupt?.() ?? new AbortController().signal;
      if (context.screen.isTerminal && input.document === undefined) {
        context.screen.write(`${words} of ${node} goes on until it is done; Ctrl-C stops it\n`);
      }
      const answer = await context.client.call('POST', path, body, { until: interrupted }).catch((error: unknown) => {
        if (!interrupted.aborted) throw error;
        throw new AppError(
          'aborted',
          `${words} of ${node} was stopped: the conductor begins nothing more of it\n→ ${leaves(node)}\n` +
            `→ baton ${words} ${node} goes on from there`,
        );
      });
      printStatus(context, input, answer ?? {});
    },
  };
}

/** @throws AppError `invalid_argument` when it was left away: which site it is about is nobody's to guess. */
function designOf(input: CommandInput): string {
  const design = textOption(input, 'design');
  if (design !== undefined) return design;
  throw usageError(
    "--design must be given: a revision's number, committed, successful-site-action or last-site-action",
  );
}

function queryOf(input: CommandInput, options: TeardownVerb['options']): string {
  const query = new URLSearchParams();
  for (const [name, { value }] of Object.entries(options)) {
    if (name === 'design') continue;
    const least = name.endsWith('grace-period') ? 0 : 1;
    const given = value === 'SECONDS' ? numberOption(input, name, least) : textOption(input, name);
    if (given !== undefined) query.set(name, String(given));
    if (flagOption(input, name)) query.set(name, 'true');
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** @throws AppError `command_failed` unless it says Success. */
function printStatus(context: CommandContext, input: CommandInput, answer: Json): void {
  const text = renderStatus(answer);
  if (text === undefined) throw new AppError('unavailable', 'read what the conductor answers: it is no Status object');
  if (answer['status'] !== 'Success') throw new AppError('command_failed', text);
  print(context, input, { json: answer, text: `${text}\n` });
}

/** An unhealthy cluster is no failure of the question (seed 001), but a script asks to know of it. */
async function etcdHealth(context: CommandContext, input: CommandInput): Promise<void> {
  const query = new URLSearchParams({ design_ref: designOf(input) }).toString();
  const { content } = await context.client.download(`${airship}/etcd-cluster-health-statuses?${query}`);
  const answer = JSON.parse(new TextDecoder().decode(content)) as Json;
  printStatus(context, input, answer);
  const { messageList } = answer['details'] as {
    readonly messageList: readonly { readonly message: string; readonly name?: string }[];
  };
  const ill = messageList.filter(({ message }) => message !== 'Healthy');
  if (ill.length > 0) {
    throw new AppError('command_failed', `not healthy: ${ill.map(({ name = '?' }) => name).join(', ')}`);
  }
}

export const teardownCommands: readonly Command[] = [
  ...verbs.map(teardownCommand),
  {
    words: 'etcd-health',
    options: designOption,
    meaning: 'how the etcd clusters of a design are',
    details: 'It ends with 0 only when all are Healthy.',
    run: etcdHealth,
  },
];
