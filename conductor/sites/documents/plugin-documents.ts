import type { SiteFault } from '#conductor/model/site/site-report.ts';
import {
  fieldFault,
  readData,
  type SuggestNames,
  shownText,
  strictObject,
} from '#conductor/sites/documents/schema-faults.ts';
import type { Site, SiteDocument } from '#conductor/sites/site.ts';

const PluginData = strictObject({
  name: shownText,
  version: shownText,
});

export type NamedPlugin = Site['plugins'][number];

/**
 * `baton/Plugin/v1`: which uploaded plugins' tasks run in this site's deploys.
 * @param uploaded `undefined` = not to be checked
 */
export function readPlugins(
  documents: readonly SiteDocument[],
  uploaded: readonly NamedPlugin[] | undefined,
  suggest: SuggestNames,
  faults: SiteFault[],
): NamedPlugin[] {
  const byName = Map.groupBy(uploaded ?? [], ({ name }) => name);
  const plugins = new Map<string, { readonly plugin: NamedPlugin; readonly document: SiteDocument }>();
  for (const document of documents) {
    const plugin = readData(document, PluginData, faults);
    if (!plugin) continue;
    const { name, version } = plugin;
    const first = plugins.get(name);
    if (first) {
      const message = `${name} is named by ${first.document.name} already (version ${first.plugin.version}); a plugin runs in one version`;
      faults.push(fieldFault(document, ['data', 'name'], message, 'DuplicatePlugin'));
      continue;
    }
    plugins.set(name, { plugin, document });
    if (!uploaded) continue;
    const there = byName.get(name) ?? [];
    const known = there.find((each) => each.version === version);
    if (known) {
      plugins.set(name, { plugin: known, document });
      continue;
    }
    const versions = there.map((each) => each.version);
    faults.push(
      versions.length === 0
        ? fieldFault(
            document,
            ['data', 'name'],
            `${name} is not a plugin that was uploaded${suggest(name, byName.keys())}`,
            'UnknownPlugin',
          )
        : fieldFault(
            document,
            ['data', 'version'],
            `${version} of plugin ${name} was not uploaded${suggest(version, versions)}`,
            'UnknownPlugin',
          ),
    );
  }
  return [...plugins.values()].map(({ plugin }) => plugin);
}
