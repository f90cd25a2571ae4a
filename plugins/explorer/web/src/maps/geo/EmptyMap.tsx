import { showText } from "../../app/showText";

/** What the map reads, where it finds nothing. */
export function EmptyMap({ paths }: { paths: readonly string[] }) {
  return (
    <div className="maps-empty">
      <h2>No twin is on the map yet</h2>
      {paths.length > 0 && (
        <p>
          No twin has a geometry in{" "}
          {paths.map((one, at) => (
            <span key={one}>
              {at > 0 && ", "}
              <code>{showText(one)}</code>
            </span>
          ))}
          .
        </p>
      )}
      <p>A twin is drawn by a property that holds where it is. These are found by themselves:</p>
      <ul>
        <li>
          a property with a geospatial schema of DTDL, such as <code>point</code> or{" "}
          <code>polygon</code>;
        </li>
        <li>
          an object with <code>type</code> and <code>coordinates</code>, as GeoJSON has them, or
          with <code>latitude</code> and <code>longitude</code>;
        </li>
        <li>
          a property whose name, comment or description in the model has the word GeoJSON, such as a
          text.
        </li>
      </ul>
      <p>Another text or object can be chosen with «Properties» above.</p>
    </div>
  );
}
