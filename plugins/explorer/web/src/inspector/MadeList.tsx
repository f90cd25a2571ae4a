import { Undo2 } from "lucide-react";
import { Button, Dialog, DialogTrigger, Heading, Popover } from "react-aria-components";

import { useSelection } from "../app/selection";
import { showText } from "../app/showText";
import { useSession } from "../session/session";
import { takeBack, useMade } from "./made";
import { Moment } from "./Moment";

/** What was changed with this page since it was opened, each with a way to take it back. */
export function MadeList() {
  const { graphId } = useSession();
  const select = useSelection((state) => state.select);
  const all = useMade((state) => state.made);
  const made = all.filter((one) => one.graphId === graphId);
  if (made.length === 0) return null;
  const left = made.filter((one) => one.undo !== null && one.state !== "undone").length;
  return (
    <DialogTrigger>
      <Button
        className="rail-item"
        aria-label={`Changes made here${left > 0 ? `, ${left} to undo` : ""}`}
      >
        <Undo2 size={20} aria-hidden />
        {left > 0 && <span className="rail-label">{left}</span>}
      </Button>
      <Popover placement="right bottom" className="react-aria-Popover made">
        <Dialog aria-label="Changes made here">
          <Heading slot="title">Changes made here</Heading>
          <p className="muted">Since this page was opened; a reload forgets them.</p>
          <ul>
            {made.map((one) => (
              <li key={one.number}>
                <span className="made-text">
                  <Moment title="Changed" value={one.at.toISOString()} />{" "}
                  <Button className="made-link" onPress={() => select(one.of)}>
                    {showText(one.text)}
                  </Button>
                </span>
                {one.state === "undone" ? (
                  <span className="muted">undone</span>
                ) : one.undo === null ? (
                  <span className="muted">cannot be undone</span>
                ) : (
                  <Button
                    className="button button-small"
                    aria-label={`Undo: ${one.text}`}
                    isPending={one.state === "undoing"}
                    onPress={() => void takeBack(one.number)}
                  >
                    Undo
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
