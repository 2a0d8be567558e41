import { expect } from 'vitest';
import type { TestApi } from '#test/support/test-api.ts';

/** A new node of fake hardware; answers its UUID. */
export async function createNode(api: TestApi, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { uuid, fault } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', ...more });
  expect(fault).toBeUndefined();
  return uuid;
}
