import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProduct, readSources } from './house/read-sources.ts';

/** Regular expressions of people run where they can be given up: `shared/person-pattern.ts`, or on a thread. */

const product = (await readSources(join(import.meta.dirname, '..'))).filter(isProduct);
const programs = product.filter(({ path }) => /^(agent|conductor|shared)\//.test(path) && !path.includes('/testing/'));
const filesWith = (form: RegExp): string[] => programs.filter(({ text }) => form.test(text)).map(({ path }) => path);

/** Where expressions are put together of the program's own parts, of numbers, or of escaped text with few `*`. */
const own = [
  'agent/boot/device-path.ts',
  'agent/boot/find-loaders.ts',
  'agent/erase/ata-security.ts',
  'agent/hardware/inventory-bmc.ts',
  'agent/hardware/inventory-boards.ts',
  'agent/machine/inventory-system.ts',
  'agent/image/fetch/expected-checksum.ts',
  'agent/kexec/loader-entries.ts',
  'agent/kexec/systemd-boot.ts', // `default` of loader.conf, which is the image's, by `personPattern`
  'conductor/drivers/redfish/firmware.ts',
  'conductor/flows/conductor-steps/prepare-instance-boot.ts',
  'conductor/kernel/secrets/secrets.ts',
  'conductor/model/recordings/mask-recording.ts',
  'conductor/model/recordings/replace-identities.ts',
  'conductor/networks/allowed-ports.ts', // `*` of the networks file over names of ports
  'conductor/networks/switches/command-line/lines/interface-sections.ts',
  'conductor/networks/switches/command-line/lines/known-ports.ts',
  'conductor/networks/switches/command-line/lines/named-elsewhere.ts',
  'conductor/networks/switches/command-line/prompt.ts',
  'conductor/networks/switches/command-line/shell-forms.ts',
  'conductor/networks/switches/command-line/lines/switchport-words.ts',
  'conductor/networks/switches/os/ports/aos-cx-ports.ts',
  'conductor/networks/switches/os/ports/aos-cx-rest-ports.ts',
  'conductor/networks/switches/os/ports/cumulus-keys.ts',
  'conductor/networks/switches/os/ports/cumulus-ports.ts',
  'conductor/networks/switches/os/ports/ios-xe-ports.ts',
  'conductor/networks/switches/os/ios-xe.ts',
  'conductor/networks/switches/os/ports/junos-elsewhere.ts',
  'conductor/networks/switches/os/ports/junos-ports.ts',
  'conductor/networks/switches/os/ports/junos-ranges.ts',
  'conductor/networks/switches/os/ports/nxos-ports.ts',
  'shared/machine-identity.ts',
  'shared/secret-words.ts',
];

test('nobody else makes regular expressions of texts', () => {
  const found = filesWith(/\bRegExp\(/).filter((path) => !own.includes(path));
  expect(found.sort()).toEqual(['conductor/nodes/inspection/rules/match-apart.ts', 'shared/person-pattern.ts']);
  expect(filesWith(/\bpersonPattern\(/).sort()).toEqual([
    'agent/boot/clean-boot-entries.ts',
    'agent/custom/script-file.ts',
    'agent/kexec/systemd-boot.ts',
    'conductor/flows/plan/check-arg-rules.ts',
    'conductor/nodes/inspection/rules/conditions.ts',
    'conductor/sites/rendering/substitute.ts',
    'shared/person-pattern.ts',
  ]);
  // ajv, whose schemas of documents have patterns
  expect(filesWith(/\brunWithin\(/).sort()).toEqual([
    'conductor/sites/documents/schema-faults.ts',
    'shared/person-pattern.ts',
    'shared/run-within.ts',
  ]);
});

test('documents with people’s expressions and schemas are read on a thread alone', () => {
  const reads = /(?<!function )\b(readSite|renderSite|renderLayers|dataSchemaFaults)\(/;
  const found = programs.filter(
    ({ path, text }) => path.startsWith('conductor/') && !path.startsWith('conductor/board/') && reads.test(text),
  );
  expect(found.map(({ path }) => path).sort()).toEqual([
    'conductor/sites/documents/read-site.ts',
    'conductor/sites/rendering/mask-encrypted.ts',
  ]);
  expect(filesWith(/\b(doSiteWork|siteWorks)\b/).sort()).toEqual([
    'conductor/sites/apart/read-apart.ts',
    'conductor/sites/apart/site-thread.ts',
    'conductor/sites/apart/site-works.ts',
  ]);
});

test('the database is given no pattern of a caller', () => {
  expect(filesWith(/(?:sql`[^`]*(?:~\*? ?\$\{|regexp_|similar to|like_regex))/)).toEqual([]);
});
