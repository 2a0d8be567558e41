import { expect, test } from 'vitest';
import { renderStatus } from '#conductor/cli/shell/render-status.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';

const summarized = { summarized: true };
const reported = (message: string, more: object = {}) => ({ message, error: true, kind: 'SimpleMessage', ...more });

test('what the message says is not told again below it; why a cluster is ill is', () => {
  const status = (message: string, messageList: readonly object[]) =>
    renderStatus({ kind: 'Status', status: 'Failure', message, details: { messageList } })?.split('\n');
  const drain = 'drain of node n1 has not ended within 5 s: 2 pods are still on node n1: Pod web/a: no budget';
  const pods = [
    reported('drain: Pod web/a: no budget', summarized),
    reported('drain: Pod web/b: no budget'),
    reported(`drain: ${drain}`, summarized),
  ];
  expect(status(`decommission of n1 ended at its step drain: ${drain}`, [...pods, ...pods])).toEqual([
    `decommission of n1 ended at its step drain: ${drain}`,
    '  Error drain: Pod web/b: no budget',
  ]);
  const health = { kind: 'HealthMessage', name: 'kubernetes', error: false, causes: ['member n2 does not answer'] };
  expect(status('0 of 1 etcd clusters are healthy', [reported('Unhealthy', health)])).toEqual([
    '0 of 1 etcd clusters are healthy',
    '  kubernetes: Unhealthy',
    '    member n2 does not answer',
  ]);
});

test('faults that the message ends with are told once, a line each', () => {
  const fault = (message: string) => ({ message, level: 'Error', kind: 'ValidationMessage' });
  const status = (message: string, remark?: Remark) => ({
    kind: 'Status',
    status: 'Failure',
    message,
    details: { messageList: [fault('no id'), fault('no role')], remark },
  });
  const remark = newRemark('plugin-faults', { plugin: 'ntp', faults: ['no id', 'no role'] });
  expect(describeRemark(remark)).toBe('plugin ntp: no id; no role');
  expect(renderStatus(status('in other words', remark))).toBe('plugin ntp:\n  Error no id\n  Error no role');
  expect(renderStatus(status('the upload has 2 errors'))).toBe(
    'the upload has 2 errors\n  Error no id\n  Error no role',
  );
});
