import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClusterChange, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import { describeJournalEntry, type Journal, keepJournal } from '#conductor/cluster/journal.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { leaveCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { type Round, repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { newBudget, newNode } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
let lines: string[];
beforeEach(async () => {
  small = await openSmallCluster();
  lines = [];
});
afterEach(() => small.close());

const journal: Journal = (entries) => {
  lines.push(...entries.map(describeJournalEntry));
  return Promise.resolve();
};
const options = { what: 'work', timeoutMs: 240_000, everyMs: 20, signal: new AbortController().signal, journal };
const patch = { method: 'PATCH', path: /nodes\/n[13]$/ } as const;
/** After `looks` it rests until its time is up, which then cuts off no request. */
const drain = ({ looks = Infinity, ...more }: { readonly timeoutMs?: number; readonly looks?: number } = {}) => {
  let made = 0;
  return repeatRounds(
    async (signal, announce) => {
      made += 1;
      if (made > looks) await once(signal, 'abort');
      return drainNode(small.cluster, 'n1', { gracePeriodSeconds: 1, announce }, signal);
    },
    { ...options, ...more },
  );
};
/** One that nothing ends, with time for more than one round. */
const endless = { timeoutMs: 5_000, looks: 3 };

test('a change that was refused is in no answer, and the journal says so', async () => {
  small.simulator.inject({ ...patch, status: 403, times: 9 });
  const failed: unknown = await drain().catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'forbidden' });
  expect(JSON.stringify((failed as AppError).details)).not.toContain('is cordoned');
  expect(lines).toEqual(['Node n1 is cordoned: started', 'Node n1 is cordoned: this was refused']);
});

test('one whose answer was lost is unknown; a later look settles it', async () => {
  small.simulator.inject({ ...patch, dropAnswer: true });
  await drain();
  expect(lines).toEqual(['Node n1 is cordoned: started', 'Node n1 is cordoned']);
  small.simulator.store.replace('nodes', { ...small.simulator.store.get('nodes', 'n1'), spec: {} });
  lines = [];
  small.simulator.inject({ ...patch, status: 500, times: 999 });
  await expect(drain(endless)).rejects.toMatchObject({ code: 'timeout' });
  expect(lines).toEqual([
    'Node n1 is cordoned: started',
    'Node n1 is cordoned: this was started, and its result is unknown',
  ]);
});

test('what came before the refusal in the same look is done', async () => {
  small.simulator.store.create('nodes', newNode('n3', { rack: 'r1' }));
  const round = (signal: AbortSignal, announce: Parameters<Parameters<typeof repeatRounds>[0]>[1]): Promise<Round> =>
    leaveCluster(
      small.cluster,
      'n3',
      {
        mayBeGone: false,
        announce: async (changes, outcome) => {
          await announce(changes, outcome);
          // the labels are refused
          if (outcome === 'done') small.simulator.inject({ ...patch, status: 403, times: 9 });
        },
      },
      signal,
    );
  await expect(repeatRounds(round, options)).rejects.toMatchObject({ code: 'forbidden' });
  expect(lines.filter((line) => !line.endsWith(': started'))).toEqual([
    'Node n3 is cordoned',
    'Label rack=r1 is taken from node n3: this was refused',
  ]);
});

test('an etcd member is written down with its addresses before it leaves, and again with what came of it', async () => {
  const member: ClusterChange = {
    kind: 'etcd member',
    name: 'a',
    value: 'https://a:2380',
    of: 'main',
    message: 'a left',
  };
  const answers = [new AppError('busy', 'later', { details: { status: 429 } }), undefined];
  await repeatRounds(
    async (_signal, announce) => {
      await makeChanges(announce, [member], () => {
        const answer = answers.shift();
        return answer ? Promise.reject(answer) : Promise.resolve();
      });
      return { state: 'done', messages: [] };
    },
    { ...options, what: 'removal' },
  );
  const text = 'a left (peer URLs https://a:2380)';
  const begun = `${text}: started`;
  expect(lines).toEqual([begun, `${text}: this was refused`, begun, text]);
});

test('a pod stands there before it is asked to go, and what came of it; one that a budget keeps does not fill it', async () => {
  await small.addSet('web', 2);
  small.simulator.store.create('poddisruptionbudgets', newBudget('web', 'web', 2));
  small.addPod({ name: 'alone', node: 'n1' });
  await small.settle();
  const kept = small.podsOn('n1').find(({ metadata }) => metadata.name.startsWith('web'))?.metadata.name;
  // a conductor that dies at its first request has written down what that was
  const dying = drainNode(
    small.cluster,
    'n1',
    {
      gracePeriodSeconds: 1,
      announce: async (changes, outcome) => {
        await keepJournal(journal).announced(changes, outcome);
        if (changes.some(({ kind }) => kind === 'pod')) throw new Error('killed');
      },
    },
    AbortSignal.timeout(240_000),
  );
  await expect(dying).rejects.toThrow('killed');
  expect(lines).toContain('Pod default/alone goes for good: no controller replaces it: started');
  lines = [];
  await expect(drain(endless)).rejects.toMatchObject({ code: 'timeout' });
  const alone = 'Pod default/alone goes for good: no controller replaces it';
  expect(lines.filter((line) => line.includes('alone'))).toEqual([`${alone}: started`, alone]);
  const web = `Pod default/${kept} is evicted`;
  expect(lines.filter((line) => line.startsWith(web))).toEqual([
    `${web}: started`,
    `${web}: this was refused, and may be asked for again`,
  ]);
});
