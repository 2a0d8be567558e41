import { describe, expect, test } from 'vitest';
import type { ActionAnswer } from '#conductor/api/actions.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import {
  actionAnswer,
  groupAnswer,
  noteAnswer,
  ntpFailed,
  ntpFailedNodes,
} from '#conductor/cli/testing/action-answers.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { AppError } from '#shared/errors/app-error.ts';

const id = '01J00000000000000000000000';
const json = (value: unknown) => value as Record<string, unknown>;
const complete = actionAnswer({
  action_lifecycle: 'Complete',
  ended_at: '1970-01-01T00:00:02.000Z',
  groups: [groupAnswer('g', { success: 2 }, { stage: 'success' })],
  nodes_by_status: { not_started: 0, prepared: 0, success: 2, failure: 0 },
});

/** A conductor whose action stands so at each look; the last one stays. */
function conductorOf(looks: readonly (ActionAnswer | Error)[]) {
  let look = -1;
  return createRecordingTerminal((request) => {
    if (request.startsWith('POST')) return { id };
    if (request.includes('/nodes')) return { nodes: ntpFailedNodes };
    look = Math.min(look + 1, looks.length - 1);
    const seen = looks[look];
    return seen instanceof Error ? seen : json(seen);
  });
}

describe('action create', () => {
  test('sends name and parameters, and says how to see it', async () => {
    const terminal = conductorOf([]);
    const args = ['--param', 'target_nodes=n1,n2', '--param', 'a=b=c', '--allow-intermediate-commits'];
    expect(await terminal.run('action', 'create', 'deploy_site', ...args)).toBe(
      `deploy_site ${id} started; baton action watch ${id} shows it\n`,
    );
    expect(terminal.calls).toEqual([
      [
        'POST /api/v1.0/actions',
        {
          name: 'deploy_site',
          parameters: { target_nodes: 'n1,n2', a: 'b=c', 'allow-intermediate-commits': true },
        },
      ],
    ]);
  });

  test('a parameter without a value is bad usage: nothing is sent', async () => {
    const terminal = conductorOf([]);
    await expect(terminal.run('action', 'create', 'deploy_site', '--param', 'x')).rejects.toThrow('NAME=VALUE');
    expect(terminal.calls).toEqual([]);
  });

  test('a parameter that is given twice is bad usage: which is meant is nobody’s to guess', async () => {
    const terminal = conductorOf([]);
    const twice = (...args: string[]) =>
      terminal.run('action', 'create', 'teardown_server', ...args).catch((e: unknown) => e);
    const nodes = await twice('--param', 'target_nodes=worker11', '--param', 'target_nodes=worker12');
    expect(nodes).toMatchObject({ message: '--param target_nodes: given twice; target_nodes=n1,n2 names several' });
    expect(exitCodeOf(nodes)).toBe(2);
    expect(await twice('--param', 'dry_run=false', '--dry-run')).toMatchObject({
      message: '--dry-run: given twice; give it once',
    });
    expect(terminal.calls).toEqual([]);
  });

  test('--timeout without --wait is bad usage: nothing is started', async () => {
    const terminal = conductorOf([]);
    const error = await terminal
      .run('action', 'create', 'deploy_site', '--timeout', '5')
      .catch((cause: unknown) => cause);
    expect(error).toMatchObject({ message: 'action create: --timeout goes with --wait' });
    expect([exitCodeOf(error), terminal.calls]).toEqual([2, []]);
  });

  test('--help has the parameters of each action with their defaults', async () => {
    const help = await conductorOf([]).run('action', 'create', '--help');
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
    const flat = help.replaceAll(/\s+/g, ' ');
    expect(flat).toContain('redeploy_server allow-intermediate-commits, target_nodes (must be given), preserve-local-');
    expect(flat).toContain('target-revision (default: successful-site-action)');
    expect(flat).toContain('drain-node-timeout seconds for the drain (default: 3600)');
  });

  test('a dry run of what would be refused ends with 1', async () => {
    const node = {
      name: 'n1',
      provision_state: 'active',
      refused: 'it is protected',
      wrong: [],
      kubernetes: null,
      etcd: [],
      disks_seen_at: null,
      disks: { wiped: [], kept: [], remarks: [] },
      steps: [{ step: 'cluster.drain', does: 'cordons n1', timeout: 60, on_failure: 'the action ends' }],
    };
    const made = { name: 'teardown_server', committed_rev_id: 3, groups: [], validations: [], nodes: [node] };
    const terminal = createRecordingTerminal(() => made);
    const args = ['action', 'create', 'teardown_server', '--param', 'target_nodes=n1', '--dry-run'];
    const error = await terminal.run(...args).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ message: 'teardown_server would be refused because of n1' });
    expect(exitCodeOf(error)).toBe(1);
    expect(terminal.printed()).toContain('REFUSED: it is protected');
    expect(terminal.printed()).not.toContain('cluster.drain');
  });

  test('--wait goes on while the conductor is restarted, and ends with the report', async () => {
    const away = new AppError('unavailable', 'reach the conductor');
    const terminal = conductorOf([actionAnswer(), away, away, complete]);
    const output = await terminal.run('action', 'create', 'deploy_site', '--wait');
    expect(output).toContain('baremetal_nodes started\n');
    expect(output).toContain('Group g ended with stage: success\n');
    expect(output).toMatch(/: Complete, revision 3, 2\.0 s: success\n$/);
  });

  test('--wait ends with 1 when a critical group failed, after the report', async () => {
    const terminal = conductorOf([ntpFailed]);
    const error: unknown = await terminal
      .run('action', 'create', 'deploy_site', '--wait')
      .catch((cause: unknown) => cause);
    expect(error).toMatchObject({ message: 'deploy_site is Failed' });
    expect(exitCodeOf(error)).toBe(1);
    expect(terminal.printed()).toContain('Group ntp-node [Critical] ended with stage: failure');
  });

  test('--timeout ends the waiting with 4', async () => {
    const terminal = conductorOf([actionAnswer()]);
    const error: unknown = await terminal
      .run('action', 'create', 'deploy_site', '--wait', '--timeout', '5')
      .catch((cause: unknown) => cause);
    expect(exitCodeOf(error)).toBe(4);
  });

  test('-o json prints one document', async () => {
    const terminal = conductorOf([actionAnswer(), complete]);
    const output = await terminal.run('action', 'create', 'deploy_site', '--wait', '-o', 'json');
    expect(JSON.parse(output)).toMatchObject({ action: { id }, nodes: [{ name: 'control01' }, {}, {}, {}, {}, {}] });
  });
});

describe('other verbs', () => {
  test('pause, unpause, stop', async () => {
    const terminal = conductorOf([]);
    for (const verb of ['pause', 'unpause', 'stop']) await terminal.run('action', verb, id);
    expect(terminal.calls).toEqual(
      ['pause', 'unpause', 'stop'].map((verb) => [`POST /api/v1.0/actions/${id}/control/${verb}`]),
    );
  });

  test('nodes asks for what is wanted', async () => {
    const terminal = conductorOf([]);
    const output = await terminal.run('action', 'nodes', id, '--status', 'failure', '--group', 'a b', '--working');
    expect(terminal.calls[0]?.[0]).toBe(`GET /api/v1.0/actions/${id}/nodes?group=a%20b&status=failure&working=true`);
    expect(output).toContain('power on: the BMC does not answer');
  });

  test('a node at work is not told as not started', async () => {
    const [first = {}] = ntpFailedNodes;
    const doing = 'taking it out of its clusters: cluster.drain';
    const remark = newRemark('flow', { flow: 'decommission', step: 'cluster.drain' });
    // the words are made here, of the code: the server's are not read
    const nodes = ['prepare', 'deploy', null].map((phase) => ({ ...first, phase, doing: 'in other words', remark }));
    const terminal = createRecordingTerminal(() => ({ nodes }));
    const rows = (await terminal.run('action', 'nodes', id)).split('\n').slice(1, 4);
    expect(rows.map((row) => row.split(/\s+/)[1])).toEqual(['preparing', 'deploying', 'not_started']);
    expect(rows[0]).toContain(doing);
  });

  test('watch: asks only for notes that it has not seen, and tells each once', async () => {
    const looks = [
      actionAnswer({ notes: [noteAnswer('00000000000000000000000007', 'seven')] }),
      actionAnswer({ notes: [noteAnswer('00000000000000000000000009', 'nine')] }),
      { ...complete, notes: [] },
    ];
    const terminal = conductorOf(looks);
    const output = await terminal.run('action', 'watch', id);
    expect(output.match(/seven|nine/g)).toEqual(['seven', 'nine']);
    const asked = terminal.calls.flatMap(([request]) => /verbosity=2(\S*)/.exec(request)?.[1] ?? []);
    expect(asked).toEqual(['', '&since=7', '&since=9']);
  });

  test('show: groups, notes, and the report of what has ended', async () => {
    const notes = [noteAnswer('7', 'is deployed', { subject: 'n1' })];
    const output = await conductorOf([{ ...complete, notes }]).run('action', 'show', id);
    expect(output).toContain('✓ g  ██████████ 2/2\n');
    expect(output).toContain('1970-01-01T00:00:01.000Z  n1: is deployed\n');
    expect(output).toContain('Group g ended with stage: success\n');
  });

  test('list', async () => {
    const terminal = createRecordingTerminal(() => json([complete]));
    expect(await terminal.run('action', 'list', '--limit', '5')).toContain(`${id}  deploy_site  Complete`);
    expect(terminal.calls).toEqual([['GET /api/v1.0/actions?limit=5']]);
  });

  test('site groups draws the plan', async () => {
    const groups = [
      { name: 'a', critical: true, depends_on: [], members: ['n1'] },
      { name: 'b', critical: false, depends_on: ['a'], members: ['n2', 'n3'] },
    ];
    const terminal = createRecordingTerminal(() => ({ revision: 3, groups }));
    expect(await terminal.run('site', 'groups', '--version', 'buffer')).toBe(
      'a     critical  1 node\n└─ b            2 nodes\n',
    );
    expect(terminal.calls).toEqual([['GET /api/v1.0/site/groups?version=buffer']]);
    expect(await terminal.run('site', 'groups', '--format', 'mermaid')).toContain('g0 --> g1');
    await expect(terminal.run('site', 'groups', '--format', 'png')).rejects.toThrow('text, dot, mermaid');
  });
});

test('a group that the action has not is told, with the one that was meant; one without nodes is empty', async () => {
  const terminal = createRecordingTerminal((request) => (request.includes('/nodes') ? { nodes: [] } : json(ntpFailed)));
  await expect(terminal.run('action', 'nodes', id, '--group', 'ntp-nod')).rejects.toThrow(
    '--group: the action has no group ntp-nod; did you mean ntp-node?; it has monitoring-nodes, ntp-node, control-nodes',
  );
  expect(await terminal.run('action', 'nodes', id, '--group', 'ntp-node')).toMatch(/^name +status/);
});
