import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { DrydockDocuments } from '#conductor/sites/documents/drydock-documents.ts';
import type { NodeDesign } from '#conductor/sites/documents/node-design.ts';
import { fieldFault } from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/site-document.ts';

/**
 * What Drydock would do with a profile or node and Baton does not, and what to do instead. A Warning where the deployed
 * system would differ from what the document says.
 */
export function notHonoured(
  document: SiteDocument,
  design: NodeDesign,
  { networks, links, hardware }: DrydockDocuments,
): SiteFault[] {
  const faults: SiteFault[] = [];
  const report = (level: 'Warning' | 'Info', path: readonly string[], message: string): void => {
    faults.push(fieldFault(document, ['data', ...path], message, 'NotHonoured', level));
  };
  const { storage, platform } = design;
  const partitioned = Object.values(storage?.physical_devices ?? {}).some(
    (device) => device?.volume_group || (device?.partitions ?? []).length > 0,
  );
  if (partitioned || Object.keys(storage?.volume_groups ?? {}).length > 0) {
    const message = 'has partitions or volume groups, which Baton does not make: the image brings its own';
    report('Warning', ['storage'], message);
  }
  if (platform?.kernel) report('Warning', ['platform', 'kernel'], 'is not honoured: the image brings its kernel');
  if (Object.keys(platform?.kernel_params ?? {}).length > 0) {
    const message = 'is not honoured: the image has its own, and a plugin task may change them after the deploy';
    report('Warning', ['platform', 'kernel_params'], message);
  }
  for (const [name, each] of Object.entries(design.interfaces ?? {})) {
    if (each?.sriov) report('Warning', ['interfaces', name, 'sriov'], 'is not honoured: a plugin task may set it up');
    if (each?.device_link && !links.has(each.device_link)) {
      report('Info', ['interfaces', name, 'device_link'], 'is not used: there is no such drydock/NetworkLink/v1');
    }
  }
  const unknown = (design.addressing ?? []).find(
    ({ network }) => network !== design.oob?.network && !networks.has(network),
  );
  if (unknown) {
    const message = `gives the deployed system no address in ${unknown.network}: there is no such drydock/Network/v1`;
    report('Warning', ['addressing'], message);
  }
  if (typeof design.config_drive === 'object' && design.config_drive?.user_data) {
    const message =
      'is read by everyone who may read the site: substitute passwords, keys and tokens from encrypted documents';
    faults.push(fieldFault(document, ['data', 'config_drive', 'user_data'], message, 'ReadableByAll', 'Warning'));
  }
  if (design.primary_network && !networks.has(design.primary_network)) {
    report('Info', ['primary_network'], 'is not used: there is no such drydock/Network/v1');
  }
  if (design.hardware_profile && !hardware.has(design.hardware_profile)) {
    report('Info', ['hardware_profile'], 'is not used: there is no such drydock/HardwareProfile/v1');
  }
  return faults;
}
