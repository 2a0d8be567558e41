import { expect, test } from 'vitest';
import type { AtaSecurity } from '#agent/erase/ata-security.ts';
import { describeMethod, type EraseAbilities, planErase } from '#agent/erase/erase-methods.ts';
import { type EraseOptions, readEraseOptions } from '#shared/in-band/erase-options.ts';

const defaults = readEraseOptions({ driver_internal_info: {} });
const nvme = { format: true, cryptoErase: true, formatsAllNamespaces: true, sanitize: ['block erase'] as const };
const security: AtaSecurity = {
  supported: true,
  enabled: false,
  locked: false,
  frozen: true,
  enhancedErase: true,
  eraseMinutes: 1,
  enhancedEraseMinutes: 1,
};

test.each<[string, Partial<EraseAbilities>, Partial<EraseOptions>, string[]]>([
  ['a plain disk', {}, {}, ['overwrite']],
  ['a thin one', { discards: true }, {}, ['discard', 'overwrite']],
  ['several passes rule out a discard', { discards: true }, { iterations: 3 }, ['overwrite']],
  [
    'NVMe',
    { nvme, discards: true },
    {},
    [
      'nvme format, secure erase 2',
      'nvme format, secure erase 1',
      'nvme sanitize, block erase',
      'discard',
      'overwrite',
    ],
  ],
  [
    'NVMe without crypto erase',
    { nvme: { ...nvme, cryptoErase: false, sanitize: [] } },
    {},
    ['nvme format, secure erase 1', 'overwrite'],
  ],
  ['NVMe, switched off', { nvme }, { nvmeSecureErase: false }, ['overwrite']],
  ['a namespace beside one to be kept', { nvme, sharesHardware: true }, {}, ['overwrite']],
  [
    'the same where a format acts on one',
    { nvme: { ...nvme, formatsAllNamespaces: false }, sharesHardware: true },
    {},
    ['nvme format, secure erase 2', 'nvme format, secure erase 1', 'overwrite'],
  ],
  // a frozen disk is tried, so that the operator hears of it
  ['ATA', { ata: security, discards: true }, {}, ['ata enhanced secure erase', 'discard', 'overwrite']],
  ['ATA, switched off', { ata: security }, { ataSecureErase: false }, ['overwrite']],
  ['ATA without the feature', { ata: { ...security, supported: false } }, {}, ['overwrite']],
])('%s', (_name, abilities, options, expected) => {
  const methods = planErase({ sharesHardware: false, discards: false, ...abilities }, { ...defaults, ...options });
  expect(methods.map(describeMethod)).toEqual(expected);
});
