import { expect, test } from 'vitest';
import { NodeDescription } from '#conductor/api/node-description.ts';
import { patchRules, requireFieldRights } from '#conductor/auth/authorize.ts';

test('there is a rule for every field that can be written, and for no other', () => {
  expect(Object.keys(patchRules).sort()).toEqual(Object.keys(NodeDescription.shape).sort());
});

test('what has no rule is refused', () => {
  const caller = { user: 'u', role: 'admin', project: 'ours' } as const;
  const own = { owner: 'ours', lessee: null };
  expect(() => requireFieldRights(['extra', 'name'], 'p', caller, own)).not.toThrow();
  for (const field of ['provision_state', 'constructor', 'chassis_uuid']) {
    expect(() => requireFieldRights([field], 'p', caller, own)).toThrow(`p:${field} `);
  }
});
