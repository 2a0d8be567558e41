import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { type KnownToSite, readSite } from '#conductor/sites/documents/read-site.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { type Site, siteDocument } from '#conductor/sites/site.ts';

/** A site from YAML as an operator uploads it, all in one collection. */
export function readText(yaml: string, known: KnownToSite = {}): { site: Site | undefined; faults: SiteFault[] } {
  const parsed = parseDocuments(yaml);
  const read = readSite(
    parsed.documents.map((document) => siteDocument('site', document)),
    known,
  );
  return { site: read.site, faults: [...parsed.faults, ...read.faults] };
}

/** A document's YAML. @param data indented as it likes; without it nothing */
export function yamlOf(schema: string, name: string, data: string): string {
  const indented = data.replaceAll(/^/gm, '  ');
  return `---\nschema: ${schema}\nmetadata: {schema: metadata/Document/v1, name: ${name}}\ndata:\n${indented}\n`;
}

/** `Error UnknownGroup drydock/BaremetalNode/v1 n1 data.oob: message` without what is not there. */
export function faultText({ level, name, document, path, message }: SiteFault): string {
  const place = [document?.schema.split('/')[1], document?.name, path].filter(Boolean).join(' ');
  return `${level} ${name}${place && ` ${place}`}: ${message}`;
}

/** A node without faults. @param more further fields of its data */
export function goodNode(more = '', name = 'n1', number = 1): string {
  const mac = `52:54:00:00:00:${number.toString(16).padStart(2, '0')}`;
  return yamlOf(
    'drydock/BaremetalNode/v1',
    `'${name}'`,
    `oob: {type: redfish, address: 192.0.2.${number}, credential: bmc}
interfaces: {eth0: {mac: '${mac}'}}
platform: {image: 'http://images/debian.qcow2', checksum: 'sha256:${'a'.repeat(64)}'}
${more}`,
  );
}
