import { expect, test } from 'vitest';
import { checkInterface } from '#conductor/nodes/node-interfaces.ts';

test('bootc is not supported, and the refusal says the way round', () => {
  expect(() => checkInterface('redfish', 'deploy', 'bootc')).toThrow(
    /^deploy_interface: driver redfish has no deploy interface 'bootc'; it must be direct, .*'bootc' is not supported: .*bootc-image-builder.*oci:\/\//,
  );
});

test('another name that no driver has is refused with those that there are', () => {
  expect(() => checkInterface('redfish', 'deploy', 'anaconda', ' Send none.')).toThrow(
    /^deploy_interface: driver redfish has no deploy interface 'anaconda'; it must be direct, custom-agent, ramdisk\. Send none\.$/,
  );
});
