import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';
import { type BenchContext, type Figure, median, round } from '#test/bench/area.ts';

const documentCount = 1000;
const rounds = 9;
const layers = ['global', 'type', 'site'];

/**
 * Rendering of 1,000 documents as Airship's sites have them: a parent of each in the layer above, actions that merge,
 * replace and delete, and substitutions of whole values and into patterns. The median of some.
 */
export function measureSiteRender({ say }: BenchContext): Record<string, Figure> {
  const documents = documentsOf();
  const times = Array.from({ length: rounds }, () => {
    const startedAt = performance.now();
    const { documents: rendered, faults } = renderLayers(documents);
    if (faults.length > 0 || rendered.length !== documents.length) {
      throw new Error(`rendered ${rendered.length} of ${documents.length} documents: ${faults[0]?.message ?? ''}`);
    }
    return performance.now() - startedAt;
  });
  say(`slowest: ${round(Math.max(...times))} ms for ${documentCount} layered documents`);
  return { render_ms_1000: { value: round(median(times)), unit: 'ms' } };
}

function documentsOf(): SiteDocument[] {
  const policy = siteDocument('site', {
    schema: 'deckhand/LayeringPolicy/v1',
    metadata: { schema: 'metadata/Control/v1', name: 'policy' },
    data: { layerOrder: layers },
  });
  return [policy, ...Array.from({ length: documentCount }, (_, index) => layeredDocument(index))];
}

/** Three in a row are one chart through all layers; each has values from the chart before. */
function layeredDocument(index: number): SiteDocument {
  const depth = index % layers.length;
  const chart = Math.floor(index / layers.length);
  const parent =
    depth === 0
      ? {}
      : {
          parentSelector: { chart: `c${chart}` },
          actions: [
            { method: 'merge', path: '.' },
            { method: 'replace', path: '.values.images' },
            { method: 'delete', path: '.values.obsolete' },
          ],
        };
  const source = { schema: 'armada/Chart/v1', name: `chart-${chart - 1}-0` };
  const substitutions =
    chart === 0
      ? []
      : [
          { src: { ...source, path: '.values.images' }, dest: { path: '.values.others' } },
          { src: { ...source, path: '.release' }, dest: { path: '.values.url', pattern: 'RELEASE' } },
        ];
  return siteDocument('site', {
    schema: 'armada/Chart/v1',
    metadata: {
      schema: 'metadata/Document/v1',
      name: `chart-${chart}-${depth}`,
      labels: { chart: `c${chart}` },
      layeringDefinition: { abstract: false, layer: layers[depth], ...parent },
      substitutions,
    },
    data: {
      release: `release-${chart}`,
      values: {
        images: Object.fromEntries(
          Array.from({ length: 10 }, (_, image) => [`i${image}`, `registry/${depth}/${image}`]),
        ),
        obsolete: true,
        url: 'http://charts.example/RELEASE.tgz',
        conf: Object.fromEntries(
          Array.from({ length: 30 }, (_, key) => [`key${key}`, { value: key, on: depth === 0 }]),
        ),
      },
    },
  });
}
