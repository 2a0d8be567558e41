import { expect, test } from 'vitest';
import { runCommand } from '#conductor/cli/commands.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import type { ApiClient, CallOptions } from '#conductor/cli/shell/api-client.ts';
import { teardownVerbs } from '#conductor/cli/sites/teardown-commands.ts';
import { etcdStepDefaults, nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { AppError } from '#shared/errors/app-error.ts';

const statusOf = (more: object, messageList: readonly object[] = []) => ({
  kind: 'Status',
  status: 'Success',
  reason: 'Success',
  message: 'Node n1 is decommissioned',
  details: { errorCount: 0, messageList },
  ...more,
});

interface Terminal {
  readonly answer?: (options?: CallOptions) => Promise<object>;
  readonly interrupt?: AbortSignal;
  /** The conductor has not answered within a second. */
  readonly slow?: boolean;
}

async function baton(args: readonly string[], { answer, interrupt, slow = true }: Terminal = {}) {
  const asked: unknown[][] = [];
  const notices: string[] = [];
  let output = '';
  const given = answer ?? (() => Promise.resolve(statusOf({})));
  const client: ApiClient = {
    call: async (method, path, body, options) => {
      asked.push([method, path, ...(body === undefined ? [] : [body])]);
      // what changes a node can be interrupted; a question must be answered
      const allows = [options?.until instanceof AbortSignal, options?.isRequired === true];
      expect(allows).toEqual([method === 'POST', method === 'GET']);
      return (await given(options)) as Record<string, unknown>;
    },
    download: () => Promise.reject(new Error('no downloads here')),
  };
  const screen = {
    write: (text: string | Uint8Array) => void (output += String(text)),
    isTerminal: false,
    size: () => ({ columns: 80, rows: 24 }),
  };
  const connect = () => ({ client, openConsole: () => Promise.resolve() });
  const clock = { now: () => new Date(0), sleep: () => (slow ? Promise.resolve() : Promise.reject(new Error('over'))) };
  const notify = (line: string) => void notices.push(line);
  const terminal = {
    screen,
    describeSettings: () => Promise.resolve([]),
    clock,
    notify,
    connect,
    ...(interrupt ? { onInterrupt: () => interrupt } : {}),
  };
  const failure = await runCommand(terminal, args).then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error : new AppError('internal', String(error))),
  );
  return { asked, output, failure, notices };
}

const design = (href: string) => ({ rel: 'design', href, type: 'application/x-yaml' });
const nodes = '/api/v1.0/nodes';

test.each([
  ['drain n1', ['POST', `${nodes}/n1/drain`]],
  ['drain n1 --dry-run', ['POST', `${nodes}/n1/drain?dry-run=true`]],
  ['drain n1 --timeout 60 --grace-period 0', ['POST', `${nodes}/n1/drain?timeout=60&grace-period=0`]],
  ['clear-labels n1 --timeout 9', ['POST', `${nodes}/n1/clear-labels?timeout=9`]],
  ['restore-labels n1', ['POST', `${nodes}/n1/restore-labels`]],
  ['remove-etcd n1 --design committed', ['POST', `${nodes}/n1/remove-etcd`, design('committed')]],
  [
    'shutdown-kubelet n1 --apply-daemon-set --daemon-set-image r/busybox:1',
    ['POST', `${nodes}/n1/shutdown-kubelet?apply-daemon-set=true&daemon-set-image=r%2Fbusybox%3A1`],
  ],
  ['remove-from-cluster n1', ['POST', `${nodes}/n1/remove-from-cluster`]],
  [
    'decommission n1 --design 7 --drain-node-timeout 60 --etcd-ready-timeout 5',
    ['POST', `${nodes}/n1/decommission?drain-node-timeout=60&etcd-ready-timeout=5`, design('7')],
  ],
  ['etcd-health --design 7', ['GET', '/api/v1.0/etcd-cluster-health-statuses?design_ref=7']],
])('baton %s', async (words, request) => {
  const { asked, failure, output } = await baton(words.split(' '));
  expect([failure, asked, output]).toEqual([undefined, [request], 'Node n1 is decommissioned\n']);
});

test('what a teardown did and met is told, each once, by name', async () => {
  const answer = () =>
    Promise.resolve(
      statusOf({}, [
        { message: 'drain: pod web/x was evicted', error: false, kind: 'Pod', name: 'web/x' },
        { message: 'shutdown-kubelet: it can not run', error: true, kind: 'Pod', name: 'kube/y' },
        { message: 'Node n1 is decommissioned', error: false, kind: 'SimpleMessage' },
      ]),
    );
  const { output, failure } = await baton(['decommission', 'n1', '--design', 'committed'], { answer });
  expect([failure, output.split('\n')]).toEqual([
    undefined,
    [
      'Node n1 is decommissioned',
      '  drain: pod web/x was evicted',
      '  Error Pod kube/y: shutdown-kubelet: it can not run',
      '',
    ],
  ]);
});

test('it ends well only where the conductor says Success, and etcd is healthy', async () => {
  const failed = () => Promise.resolve(statusOf({ status: 'Failure', message: 'drain of n1 has not ended' }));
  expect((await baton(['drain', 'n1'], { answer: failed })).failure).toMatchObject({
    code: 'command_failed',
    message: 'drain of n1 has not ended',
  });
  const stranger = () => Promise.resolve({ hello: 'world' });
  expect((await baton(['drain', 'n1'], { answer: stranger })).failure?.message).toContain('it is not a Status object');
  const health = [
    { message: 'Healthy', error: false, kind: 'HealthMessage', name: 'kubernetes' },
    { message: 'Unhealthy', error: false, kind: 'HealthMessage', name: 'calico' },
  ];
  const ill = await baton(['etcd-health', '--design', '7'], {
    answer: () => Promise.resolve(statusOf({ message: '1 of 2 etcd clusters are healthy' }, health)),
  });
  expect(ill.output).toBe('1 of 2 etcd clusters are healthy\n  kubernetes: Healthy\n  calico: Unhealthy\n');
  expect(ill.failure).toMatchObject({ code: 'command_failed', message: 'not healthy: calico' });
});

test('Ctrl-C says what stands as it is, and how to go on', async () => {
  const interrupt = new AbortController();
  const answer = async (options?: CallOptions) => {
    interrupt.abort();
    expect(options?.until?.aborted).toBe(true);
    throw new AppError('aborted', 'stopped waiting for the conductor');
  };
  const words = ['drain', 'n1', '--timeout', '7200'];
  const { failure, output, notices } = await baton(words, { answer, interrupt: interrupt.signal });
  expect([output, notices]).toEqual([
    '',
    ['drain of n1: waiting for its end, until 1970-01-01T02:00:00Z at the latest (7200 s); Ctrl-C stops it'],
  ]);
  expect(failure?.message.split('\n')).toEqual([
    'drain of n1 was stopped: the conductor begins nothing more of it',
    '→ n1 stays cordoned, and what was evicted goes: baton restore-labels n1 (or kubectl uncordon n1) gives it back to the cluster',
    '→ baton drain n1 --timeout 7200 goes on from there',
  ]);
});

test('what has failed says what it leaves, what was refused does not', async () => {
  const failsWith = (message: string, status: number, cause?: string) => () =>
    Promise.reject(new AppError('command_failed', message, { details: { status, cause } }));
  const linesOf = async (words: string, answer: () => Promise<never>) => {
    const { failure } = await baton(words.split(' '), { answer });
    expect(exitCodeOf(failure)).toBe(1);
    return failure?.message.split('\n');
  };
  const left =
    'n1 stays cordoned, and what was evicted goes: baton restore-labels n1 (or kubectl uncordon n1) gives it back to the cluster';
  const unreached = 'drain of node n1 has not ended within 5 s: connect ECONNREFUSED';
  expect(await linesOf('drain n1', failsWith(unreached, 500, 'NothingBegun'))).toEqual([unreached]);
  expect(await linesOf('drain n1', failsWith('drain of node n1 has not ended within 5 s', 500, 'TimeUp'))).toEqual([
    'drain of node n1 has not ended within 5 s',
    `→ ${left}`,
    '→ baton drain n1 goes on from there',
  ]);
  expect(await linesOf('decommission n1 --design 7 --apply-daemon-set', failsWith('HTTP 403', 500))).toEqual([
    'HTTP 403',
    `→ if it has come so far: what it has done stays done; ${left}`,
    '→ baton decommission n1 --design 7 --apply-daemon-set goes on from there',
  ]);
  expect(await linesOf('drain n9', failsWith('no node n9', 404))).toEqual(['no node n9']);
});

test('what is refused at once is not told of as waited for; without a kubeconfig nothing has begun', async () => {
  const unset = 'teardown of n1: this conductor knows no Kubernetes cluster: set BATON_KUBECONFIG to a kubeconfig file';
  const details = { status: 500, cause: 'NoKubernetesCluster' };
  const answer = () => Promise.reject(new AppError('command_failed', unset, { details }));
  const { failure, notices } = await baton(['drain', 'n1'], { answer, slow: false });
  expect([notices, failure?.message]).toEqual([[], unset]);
  expect((await baton(['drain', 'n1'])).notices).toHaveLength(1);
});

test('the defaults of the help are those of the conductor', () => {
  const { drainTimeout, clearLabelsTimeout } = nodeStepDefaults;
  const { removeTimeout, readyTimeout } = etcdStepDefaults;
  const seconds = teardownVerbs.flatMap(({ words, options }) =>
    Object.entries(options).flatMap(([name, option]) =>
      'seconds' in option ? [[`${words} --${name}`, option.seconds]] : [],
    ),
  );
  expect(Object.fromEntries(seconds)).toEqual({
    'drain --timeout': drainTimeout,
    'clear-labels --timeout': clearLabelsTimeout,
    'restore-labels --timeout': nodeStepDefaults.restoreLabelsTimeout,
    'remove-etcd --timeout': removeTimeout,
    'shutdown-kubelet --timeout': nodeStepDefaults.shutdownKubeletTimeout,
    'remove-from-cluster --timeout': nodeStepDefaults.removeFromClusterTimeout,
    'decommission --drain-node-timeout': drainTimeout,
    'decommission --clear-labels-timeout': clearLabelsTimeout,
    'decommission --remove-etcd-timeout': removeTimeout,
    'decommission --etcd-ready-timeout': readyTimeout,
  });
});

test.each([
  ['remove-etcd n1', '--design REVISION must be given'],
  ['etcd-health', '--design REVISION must be given'],
  ['drain n1 --timeout 0', '--timeout: it must be a whole number, 1 or more'],
  ['drain', 'it takes NODE'],
])('baton %s is refused before anything is sent', async (words, message) => {
  const { asked, failure } = await baton(words.split(' '));
  expect([asked, failure?.details['usage']]).toEqual([[], true]);
  expect(failure?.message).toContain(message);
});
