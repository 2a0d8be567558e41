import { expect, test } from 'vitest';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { siteDocument } from '#conductor/sites/site.ts';
import { loopAdditions, loopSite } from '#test/support/loop-site.ts';

/** A site in the shape of Airship's published ones, unchanged. */

const read = (text: string) => {
  const { documents, faults } = parseDocuments(text);
  expect(faults).toEqual([]);
  return readSite(documents.map((each) => siteDocument('loop', each)));
};
const whole = Object.values(loopSite).join('');
const reported = (text: string) =>
  read(text).faults.map(
    ({ level, name, document, path }) => `${level} ${name} ${document?.name ?? ''}${path ? ` ${path}` : ''}`,
  );

test('it loads, and what Baton does not do is told once per kind', () => {
  expect(reported(whole)).toMatchInlineSnapshot(`
    [
      "Info NotUsed join",
      "Info NotUsed log",
      "Info NotUsed loop",
      "Info NotUsed loop",
      "Warning SealedSecret ipmi_password metadata.storagePolicy",
      "Info NotUsed deployment-configuration",
      "Warning NotHonoured compute data.storage",
      "Warning NotHonoured compute data.platform.kernel",
      "Warning NotHonoured compute data.platform.kernel_params",
      "Warning UnknownImage loop-control-1 data.platform.image",
      "Warning NotHonoured loop-control-1 data.addressing",
      "Warning NotHonoured loop-control-1 data.addressing",
      "Warning NotHonoured loop-control-1 data.addressing",
      "Warning NotHonoured loop-control-1 data.interfaces.pxe.mac",
      "Warning NoBootPort loop-control-1 data.interfaces",
      "Warning UnknownImage loop-compute-1 data.platform.image",
      "Warning NotHonoured loop-compute-1 data.interfaces.data.mac",
      "Warning NoBootPort loop-compute-1 data.interfaces",
    ]
  `);
});

test('nodes are what the documents say', () => {
  const { site } = read(whole + loopAdditions);
  const node = site?.nodes.get('loop-compute-1');
  expect(node).toMatchObject({
    driver: 'ipmi',
    driverInfo: { ipmi_address: '198.51.100.12' },
    login: { username: 'root', password: 'loop-ipmi-9f2c' },
    rack: 'cab7',
    tags: ['workers'],
    labels: { 'openstack-nova-compute': 'enabled' },
    properties: { root_device: { hctl: '0:2:0:0' }, capabilities: 'boot_mode:bios' },
    instanceInfo: { image_source: 'http://images.example/jammy.qcow2', image_disk_format: 'qcow2' },
    ports: [],
  });
  expect(site?.strategy.groups.map(({ name, critical }) => [name, critical])).toEqual([
    ['masters', true],
    ['workers', false],
  ]);
});

test('an image by a name that nothing explains, or that two documents do', () => {
  expect(reported(whole).filter((each) => each.includes('Image'))).toEqual([
    'Warning UnknownImage loop-control-1 data.platform.image',
    'Warning UnknownImage loop-compute-1 data.platform.image',
  ]);
  expect(reported(whole + loopAdditions).filter((each) => each.includes('Image'))).toEqual([]);
  const twice = loopAdditions.replace('name: images', 'name: more');
  expect(reported(whole + loopAdditions + twice).filter((each) => each.includes('Image'))).toEqual([
    'Error DuplicateImage more data.jammy',
  ]);
  const { faults } = read(loopAdditions.replace("'http://images.example/jammy.qcow2'", 'file:///jammy'));
  expect(faults.map(({ message }) => message).join()).toContain('image must be an http:// or https:// URL');
});
