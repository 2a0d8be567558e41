import { expect, test } from 'vitest';
import { shareClients } from '#conductor/drivers/redfish/shared-clients.ts';

function watched(most?: number) {
  const gone: string[] = [];
  const made: string[] = [];
  const clients = shareClients<string>((client) => gone.push(client), most);
  const find = (key: string, node?: string, account = key): string =>
    clients.find({ key, origin: account.split(' at ').at(-1) ?? key, account, node }, () => {
      made.push(key);
      return key;
    });
  return { clients, find, gone, made };
}

test('each of three thousand nodes finds its client again, round after round', () => {
  const { find, gone, made } = watched();
  const nodes = Array.from({ length: 3000 }, (_, number) => `node-${number}`);
  for (let round = 0; round < 3; round += 1) for (const node of nodes) find(`client of ${node}`, node);
  expect(made).toHaveLength(3000);
  expect(gone).toEqual([]);
});

test('clients without a node are bounded: the longest unused goes first', () => {
  const { find, gone } = watched(2);
  find('a');
  find('b');
  find('a');
  find('of a node', 'node');
  find('c');
  expect(gone).toEqual(['b']);
});

test('a client that becomes a node’s does not count any more', () => {
  const { find, gone } = watched(1);
  find('a');
  find('a', 'node');
  find('b');
  expect(gone).toEqual([]);
});

test('a client goes with the last node that is reached by it', () => {
  const { clients, find, gone } = watched();
  find('shared', 'one');
  find('shared', 'two');
  clients.leave('one');
  expect(gone).toEqual([]);
  find('changed password', 'two');
  expect(gone).toEqual(['shared']);
  clients.leave('two');
  clients.leave('two');
  clients.leave('never seen');
  expect(gone).toEqual(['shared', 'changed password']);
});

test('a password that was taken ends the others of the same account only', () => {
  const { clients, find, gone, made } = watched();
  find('old', 'node', 'root at bmc-1');
  find('other BMC', 'second node', 'root at bmc-2');
  find('new', undefined, 'root at bmc-1');
  expect(clients.at('bmc-1')).toEqual(['old', 'new']);
  clients.keepAlone({ key: 'new', origin: 'bmc-1', account: 'root at bmc-1', node: undefined });
  expect(gone).toEqual(['old']);
  expect(clients.at('bmc-1')).toEqual(['new']);
  find('old', 'node', 'root at bmc-1');
  expect(made).toEqual(['old', 'other BMC', 'new', 'old']);
});

test('all that are open are handed out once', () => {
  const { clients, find, gone } = watched();
  find('a', 'node');
  find('b');
  expect(clients.takeAll()).toEqual(['a', 'b']);
  expect(clients.takeAll()).toEqual([]);
  expect(gone).toEqual([]);
});
